#include "optim/kernels/idle.h"

#include "optim/kernels/rounding.h"

namespace ps::PS_CPU_NAMESPACE {

template <class T>
static void advance_linear(const LinearMap& map, int64_t step, T* __restrict weight, T* __restrict momentum,
                           int64_t width) {
  const double ww = map.ww, wm = map.wm, mw = map.mw, mm = map.mm;
  Dither dither(step);
  for (int64_t i = 0; i < width; ++i) {
    const double w = weight[i], m = momentum[i];
    weight[i] = round_evenly<T>(ww * w + wm * m, dither.next());
    momentum[i] = round_normal<T>(mw * w + mm * m);
  }
}

template <class T>
static void advance_decay(double keep, double threshold, int64_t step, T* __restrict weight, int64_t width) {
  Dither dither(step);
  for (int64_t i = 0; i < width; ++i) {
    const double w = weight[i];
    weight[i] = round_evenly<T>(soft_threshold(keep * w, threshold), dither.next());
  }
}

extern const IdleKernels<float> kFloatIdleKernels = {advance_linear<float>, advance_decay<float>};
extern const IdleKernels<double> kDoubleIdleKernels = {advance_linear<double>, advance_decay<double>};

}  // namespace ps::PS_CPU_NAMESPACE
