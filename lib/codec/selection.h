// Selection of the values of the largest size, about as fast as memory can be read.  Used by the codec top_k
// and by Deep Gradient Compression.
//
// A threshold is estimated from a sample such that somewhat more values than needed pass it; a single pass
// collects these, and the largest of them are selected exactly (Lin et al., ICLR 2018, hierarchical
// selection).  When enough values have passed, the result is therefore exact: the `count` largest sizes, and
// among equal ones those with the lowest index.  Zeros are never selected.
#ifndef PS_CODEC_SELECTION_H_
#define PS_CODEC_SELECTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "codec/selection_sample.h"
#include "codec/sparse_vector.h"
#include "codec/vector_kernels.h"

namespace ps {

enum class Selection {
  kSampled,  // between 0.8 count and count values, or all that are not zero if there are fewer
  kExact,    // count values
};

inline constexpr double kLeastSelected = 0.8;

// Returns the count-th largest size; 0 when there are fewer values.
uint32_t size_of_rank(std::span<const float> values, uint64_t count);

// A selection of `count` of values [0, size) in steps, for values that are computed in the same pass:
//
//   1. begin chooses the lines of the sample; each holds kLine values.
//   2. The caller puts their values into sample(), in order.
//   3. The caller goes through all values in order, with a kernel that collects those of at least least() into
//      room(n), and says how many by collected().
//   4. finish looks at the values once more only when too few were collected.
//
// One owner thread.  An object keeps its memory for the next selection.
class Selector {
 public:
  static constexpr int64_t kLine = SelectionSample::kLine;

  Selector(Selection kind, CpuLevel cpu) : kind_(kind), kernels_(vector_kernels(cpu)) {}

  // The lines depend on `draw` and on the numbers alone.  size <= kMaxSparseSize.
  void begin(uint64_t size, uint64_t count, uint64_t draw);

  // Indices of the first values of the lines; empty for a selection without a sample.
  std::span<const uint64_t> lines() const { return lines_; }
  std::span<float> sample() { return sample_; }

  // Returns the least size to collect.  To be called after sample() is filled.
  uint32_t least();

  // Returns room for n more values.
  Collected room(int64_t n);
  void collected(int64_t n) { num_collected_ += static_cast<size_t>(n); }

  // sparse <- the selected values.  `values` must be the values of the pass.
  void finish(std::span<const float> values, SparseVector& sparse);

  // Does all steps from begin to finish, for values in memory.
  void select(std::span<const float> values, uint64_t count, uint64_t draw, SparseVector& sparse);

 private:
  void collect_all(std::span<const float> values, uint32_t least);
  void keep_largest(SparseVector& sparse) const;

  const Selection kind_;
  const VectorKernels& kernels_;
  uint64_t size_ = 0, count_ = 0, sample_rank_ = 0;
  std::vector<uint64_t> lines_;
  std::vector<float> sample_;
  std::vector<uint32_t> index_;  // indices of collected values, and room for more
  std::vector<float> value_;
  size_t num_collected_ = 0;
};

}  // namespace ps

#endif  // PS_CODEC_SELECTION_H_
