// Quantiles: exact quantiles of any number of floats, in two passes over them.  Used by the statistics of
// models.
//
// The bits of a float, with those below the sign flipped where it is set, are integers in the order of the
// numbers.  The first pass counts numbers by their upper 16 bits, which tells in which of 65536 ranges each
// quantile is.  The second pass counts the numbers of these ranges by their lower 16 bits, which tells the
// quantile itself.
#ifndef PS_CHECKPOINT_INSPECT_QUANTILES_H_
#define PS_CHECKPOINT_INSPECT_QUANTILES_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace ps {

// It takes 512 KiB, and the same again for each quantile.  One owner thread.
class Quantiles {
 public:
  // `quantiles` are in [0, 1].
  explicit Quantiles(std::span<const double> quantiles);

  // Adds a number in the first pass; it must not be NaN.
  void add(float value);

  // To be called between the two passes.
  void begin_second();

  // Adds a number in the second pass: the same numbers, in any order.
  void add_again(float value);

  // Returns the number of rank max(1, ceil(q n)) in the ascending order of all n numbers, where q is quantile
  // `index`.  At least one number must have been added.
  float value(size_t index) const;

 private:
  using Counts = std::vector<uint64_t>;  // [65536]
  struct Target {
    uint32_t range = 0;  // upper bits of the quantile
    uint64_t rank = 0;   // rank within the range, from 1
  };

  const std::vector<double> quantiles_;
  uint64_t count_ = 0;
  Counts ranges_;
  std::vector<Target> targets_;        // by quantile
  std::map<uint32_t, Counts> within_;  // by range: counts of lower bits
  std::vector<Counts*> counted_;       // [65536], by range: its counts in within_, or null
};

}  // namespace ps

#endif  // PS_CHECKPOINT_INSPECT_QUANTILES_H_
