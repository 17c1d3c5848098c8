#include "store/dense_bytes.h"

#include "table/dense_table.h"

namespace ps {

// Adds up the arrays of this shard's rows: weights, the optimizer's state, and the gradient of a matrix if
// `gradient_buffer` is set.  The sum stops at UINT64_MAX, which no limit allows, instead of wrapping
// around.
DenseBytes dense_bytes(std::span<const ParameterSpec> specs, const OptimizerPlan& optimizers,
                       const ShardPlace& place, bool gradient_buffer) {
  DenseBytes sum;
  for (size_t p = 0; p < specs.size() && place.dense >= 0; ++p) {
    const ParameterSpec& spec = specs[p];
    if (spec.sparse) continue;
    int arrays = spec.kind == ParameterKind::kStatistic ? 0 : optimizers.make(spec.tuning)->state_arrays();
    if (gradient_buffer && spec.kind == ParameterKind::kMatrix) ++arrays;
    const BlockCyclicRows blocks = dense_blocks(spec, static_cast<int64_t>(p), place.num_dense, place.dense);
    const uint64_t bytes = DenseArrays::bytes_needed(blocks.own_rows(), spec.cols, arrays);
    sum.total = bytes > UINT64_MAX - sum.total ? UINT64_MAX : sum.total + bytes;
    if (bytes > sum.largest) sum.largest = bytes, sum.worst = &spec;
  }
  return sum;
}

}  // namespace ps
