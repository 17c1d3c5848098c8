#include "optim/kernels/steps.h"

#include "base/reals.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

constexpr int64_t kRowsAhead = 64;  // rows are prefetched so far ahead

// One step of `width` weights, inlined into all loops: the compiler specialises it for loops with a constant
// width.
template <class Step, class T>
[[gnu::always_inline]] inline void step_weights(const Step& step, T* __restrict weight, T* __restrict first,
                                                T* __restrict second, const T* __restrict gradient,
                                                int64_t width, T scale, T bound) {
// Without this, g++ unrolls a loop of 8 first and then fails to vectorise it: sgd took three times as long.
#pragma GCC unroll 1
  for (int64_t i = 0; i < width; ++i) {
    T none = 0;
    T& a = Step::kArrays > 0 ? first[i] : none;
    T& b = Step::kArrays > 1 ? second[i] : none;
    step(weight[i], a, b, clip(gradient[i] * scale, bound));
  }
}

template <class Step, class T>
void step_row(const Step& given, const StepRow<T>& row) {
  const Step step = given;  // a copy, since stores to weights might alias `given`
  T* const second = Step::kArrays > 1 ? row.state + row.stride : nullptr;
  step_weights(step, row.weight, row.state, second, row.gradient, row.width, row.scale, row.bound);
}

template <class T>
[[gnu::always_inline]] inline void prefetch_ahead(const StepRows<T>& rows, int64_t n) {
  if (n + kRowsAhead < rows.num_rows) __builtin_prefetch(rows.starts[n + kRowsAhead], 1);
}

// Updates rows one after the other, from number `begin` on.  A row in a table has its weights and then its
// state arrays, `width` values each; gradients [num_rows, width] lie side by side.  kWidth: the width of
// rows, or 0 if it is known only at run time.
template <int64_t kWidth, class Step, class T>
[[gnu::always_inline]] inline void step_each(const Step& given, const StepRows<T>& rows, int64_t begin) {
  const Step step = given;
  const int64_t width = kWidth > 0 ? kWidth : rows.width;
  for (int64_t n = begin; n < rows.num_rows; ++n) {
    prefetch_ahead(rows, n);
    T* weight = rows.starts[n];
    step_weights(step, weight, weight + width, weight + 2 * width, rows.gradients + n * width, width,
                 rows.scale, rows.bound);
  }
}

// Gathers rows of 1 or 2 weights into blocks of 16 weights, so that divisions and square roots are
// vectorised; otherwise each row would take the time of a scalar division.  (For rows of 4, gathering costs
// more than it saves.)
template <int64_t kWidth, class Step, class T>
void step_together(const Step& given, const StepRows<T>& rows) {
  constexpr int64_t kWeights = 16, kRows = kWeights / kWidth;
  constexpr uint64_t kBytes = kWidth * sizeof(T);
  const Step step = given;
  T values[3][kWeights];
  int64_t n = 0;
  for (; n + kRows <= rows.num_rows; n += kRows) {
    for (int64_t r = 0; r < kRows; ++r) {
      prefetch_ahead(rows, n + r);
      for (int64_t array = 0; array <= Step::kArrays; ++array)
        __builtin_memcpy(&values[array][r * kWidth], rows.starts[n + r] + array * kWidth, kBytes);
    }
    step_weights(step, values[0], values[1], values[2], rows.gradients + n * kWidth, kWeights, rows.scale,
                 rows.bound);
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t array = 0; array <= Step::kArrays; ++array)
        __builtin_memcpy(rows.starts[n + r] + array * kWidth, &values[array][r * kWidth], kBytes);
    }
  }
  step_each<kWidth>(step, rows, n);
}

// The widths that tables often have get loops of a constant width.
template <class Step, class T>
void step_rows(const Step& step, const StepRows<T>& rows) {
  switch (rows.width) {
    case 1:
      return step_together<1>(step, rows);
    case 2:
      return step_together<2>(step, rows);
    case 4:
      return step_each<4>(step, rows, 0);
    case 8:
      return step_each<8>(step, rows, 0);
    case 16:
      return step_each<16>(step, rows, 0);
    default:
      return step_each<0>(step, rows, 0);
  }
}

}  // namespace

template <class Step>
StepKernels<Step> step_kernels() {
  using T = typename Step::Value;
  return {step_row<Step, T>, step_rows<Step, T>};
}

#define PS_KERNELS(...) template StepKernels<__VA_ARGS__> step_kernels();
#define PS_INSTANTIATE(T) PS_FOR_STEPS(PS_KERNELS, T)
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE
#undef PS_KERNELS

}  // namespace ps::PS_CPU_NAMESPACE
