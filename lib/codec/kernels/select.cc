// Kernels that collect values above a threshold, and the step of DGC that computes such values.
//
// About one value in a thousand is selected.  Therefore the kernel first computes the largest size of a block
// of 128 values, which takes one instruction a register, and looks at the values one by one only if that
// reaches the threshold.  It then writes all of them without branches, advancing the output only past
// selected ones.
#include "codec/kernels/dgc_move.h"
#include "codec/kernels/lanes.h"
#include "codec/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

constexpr int64_t kBlock = 128;

// Appends the values of a block that reach the threshold.
[[gnu::always_inline]] inline int64_t collect_block(const float* values, int64_t n, uint32_t first,
                                                    int32_t least, Collected out, int64_t count) {
  for (int64_t i = 0; i < n; ++i) {
    out.index[count] = first + static_cast<uint32_t>(i);
    out.value[count] = values[i];
    count += size_of(values[i]) >= least ? 1 : 0;
  }
  return count;
}

// Returns the largest size of a whole block of values, computed in lanes.
[[gnu::always_inline]] inline int32_t block_size(const float* values) {
  int32_t lanes[kLanes] = {};
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = larger(lanes[l], size_of(values[i + l]));
  }
  return fold(lanes);
}

// Applies the rule of DGC to values [begin, begin + n) of the step's arrays: u is the velocity, v the
// residual.  No two of the arrays overlap, which __restrict tells the compiler.
template <bool kDecay, bool kNesterov>
[[gnu::always_inline]] inline void move(const DgcStep& step, int64_t begin, int64_t n) {
  const float* __restrict gradient = step.gradient + begin;
  const float* __restrict weights = kDecay ? step.weights + begin : nullptr;
  float* __restrict velocity = step.velocity + begin;
  float* __restrict residual = step.residual + begin;
  const DgcMove<kDecay, kNesterov> rule{step.scale, -step.rate, step.momentum, step.l2};
  for (int64_t i = 0; i < n; ++i) {
    float u = velocity[i], v = residual[i];
    rule(u, v, gradient[i], kDecay ? weights[i] : 0.0f);
    velocity[i] = u;
    residual[i] = v;
  }
}

// Moves a block of values, and collects from it while it is in the cache, if its largest size reaches
// `least`.  `largest` <- the largest size of all moves.  The options are a local copy, which no write
// through the arrays can change, so that they stay in registers.
template <bool kDecay, bool kNesterov>
int64_t dgc_blocks(const DgcStep& given, int64_t n, uint32_t first, int32_t least, Collected out,
                   int32_t& largest) {
  const DgcStep step = given;
  int64_t count = 0, i = 0;
  int32_t all = largest;
  for (; i + kBlock <= n; i += kBlock) {
    move<kDecay, kNesterov>(step, i, kBlock);
    const int32_t size = block_size(step.residual + i);
    all = larger(all, size);
    if (size >= least) {
      count = collect_block(step.residual + i, kBlock, first + static_cast<uint32_t>(i), least, out, count);
    }
  }
  move<kDecay, kNesterov>(step, i, n - i);
  for (int64_t j = i; j < n; ++j) all = larger(all, size_of(step.residual[j]));
  count = collect_block(step.residual + i, n - i, first + static_cast<uint32_t>(i), least, out, count);
  largest = all;
  return count;
}

}  // namespace

// Skips blocks whose values are all too small.  The last values, fewer than a block, are always looked at.
int64_t collect(const float* values, int64_t n, uint32_t first, uint32_t least, Collected out) {
  const int32_t bound = static_cast<int32_t>(least);
  int64_t count = 0, i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    if (block_size(values + i) < bound) continue;
    count = collect_block(values + i, kBlock, first + static_cast<uint32_t>(i), bound, out, count);
  }
  return collect_block(values + i, n - i, first + static_cast<uint32_t>(i), bound, out, count);
}

// Chooses the loop that is compiled for these options, so that it has no branch for each value.
int64_t dgc_step(const DgcStep& step, int64_t n, uint32_t first, uint32_t least, Collected out,
                 uint32_t& largest) {
  const int32_t bound = static_cast<int32_t>(least);
  int32_t all = static_cast<int32_t>(largest);
  const bool decay = step.weights != nullptr;
  const int64_t count = decay ? step.nesterov ? dgc_blocks<true, true>(step, n, first, bound, out, all)
                                              : dgc_blocks<true, false>(step, n, first, bound, out, all)
                        : step.nesterov ? dgc_blocks<false, true>(step, n, first, bound, out, all)
                                        : dgc_blocks<false, false>(step, n, first, bound, out, all);
  largest = static_cast<uint32_t>(all);
  return count;
}

}  // namespace ps::PS_CPU_NAMESPACE
