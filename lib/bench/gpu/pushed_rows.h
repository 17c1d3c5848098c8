// PushedRows: computes the weights that a few rows should have after pushes, for the checks of the suite
// `gpu`.
#ifndef PS_BENCH_GPU_PUSHED_ROWS_H_
#define PS_BENCH_GPU_PUSHED_ROWS_H_

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ps {

// The sums of the gradients in each batch, for a few ranks, with the most frequent ones among them, and in a
// few columns.  Pushes take the batches in turn.  Constant after construction; any thread may use it.
class PushedRows {
 public:
  static constexpr size_t kColumns = 4;

  // The share of its move by which a weight may differ, since sums of a hundred thousand gradients round in
  // single precision.
  static constexpr double kTolerance = 1e-3;

  // The gradient of look-up `i` of its batch in column `column` is gradient(i, column).
  using Gradient = float (*)(uint64_t i, uint32_t column);

  // ranks [batches, size]; each batch has `size` look-ups of rows that are `width` wide.
  PushedRows(std::span<const uint64_t> ranks, size_t size, uint32_t width, Gradient gradient);

  // The ranks for which weights are computed, each once; and the columns.
  std::span<const uint64_t> ranks() const { return ranks_; }
  const std::array<uint32_t, kColumns>& columns() const { return columns_; }

  // Returns the weight of rank number `rank_index` of ranks() in column number `column` of columns(), which
  // starts as `start`, after `pushes` pushes.  `step` is one of optim/kernels/steps.h with double.
  template <class Step>
  double weight_after(size_t rank_index, size_t column, double start, int64_t pushes,
                      const Step& step) const {
    double weight = start, first = 0, second = 0;
    for (int64_t push = 0; push < pushes; ++push) {
      const Sum& sum = sums_[static_cast<size_t>(push) % num_batches() * ranks_.size() + rank_index];
      if (sum.uses > 0) step(weight, first, second, sum.of_column[column]);
    }
    return weight;
  }

 private:
  struct Sum {
    uint64_t uses = 0;
    std::array<double, kColumns> of_column = {};
  };

  size_t num_batches() const { return sums_.size() / ranks_.size(); }
  void choose_ranks(std::span<const uint64_t> ranks);

  const std::array<uint32_t, kColumns> columns_;
  std::vector<uint64_t> ranks_;
  std::unordered_map<uint64_t, size_t> index_of_;
  std::vector<Sum> sums_;  // [batches, ranks]
};

}  // namespace ps

#endif  // PS_BENCH_GPU_PUSHED_ROWS_H_
