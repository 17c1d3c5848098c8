// Quantiles: exact quantiles of any number of floats, which are gone through twice.  Used by the statistics of models.
//
// The bits of a float, with those below the sign flipped where it is set, are integers in the order of the numbers.
// The first time, numbers are counted by their upper 16 bits: that says in which of 65536 ranges each quantile is.  The
// second time, the numbers of these ranges are counted by their lower 16 bits, which tells the quantile itself.
#ifndef PS_CHECKPOINT_INSPECT_QUANTILES_H_
#define PS_CHECKPOINT_INSPECT_QUANTILES_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace ps {

// Takes 512 KiB, and as much again for each quantile.  One owner thread.
class Quantiles {
 public:
  // `quantiles` are in [0, 1].
  explicit Quantiles(std::span<const double> quantiles);

  // The first time through the numbers, none of them NaN.
  void add(float value);

  // To be called between the two times.
  void begin_second();

  // The second time: the same numbers in any order.
  void add_again(float value);

  // The number of rank max(1, ceil(q n)) in the ascending order of all n; `index` says which q.  There must be a
  // number.
  float value(size_t index) const;

 private:
  using Counts = std::vector<uint64_t>;  // [65536]
  struct Target {
    uint32_t range = 0;  // upper bits
    uint64_t rank = 0;   // in the range, from 1
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
