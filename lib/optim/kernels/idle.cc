#include "optim/kernels/idle.h"

#include "base/reals.h"

namespace ps::PS_CPU_NAMESPACE {

template <class T>
static void advance_linear(const LinearMap& given, int64_t step, T* __restrict weight, T* __restrict momentum,
                           int64_t width) {
  const LinearMap map = given;  // a copy, since stores to weights might alias `given`
  Dither dither(step);
  for (int64_t i = 0; i < width; ++i) advance_linear_weight(map, dither.next(), weight[i], momentum[i]);
}

template <class T>
static void advance_decay(double keep, double threshold, int64_t step, T* __restrict weight, int64_t width) {
  Dither dither(step);
  for (int64_t i = 0; i < width; ++i) decay_weight(keep, threshold, dither.next(), weight[i]);
}

template <class T>
IdleKernels<T> idle_kernels() {
  return {advance_linear<T>, advance_decay<T>};
}

#define PS_INSTANTIATE(T) template IdleKernels<T> idle_kernels();
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps::PS_CPU_NAMESPACE
