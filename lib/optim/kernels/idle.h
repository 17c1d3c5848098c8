// Idle steps, in closed form: the rules for one weight, which tables in the memory of a device also compile
// (lib/table/cuda), and the loops that apply them to a row, compiled for each level of instruction sets.
// Used by idle_row.cc, which computes the coefficients.
#ifndef PS_OPTIM_KERNELS_IDLE_H_
#define PS_OPTIM_KERNELS_IDLE_H_

#include <cstdint>

#include "optim/kernels/rounding.h"

namespace ps {

// w <- ww w + wm m, m <- mw w + mm m.  The coefficients are doubles also for rows of floats: 1 - rate l2 is
// so near 1 that its rounding to float would change rate l2 itself, with the same error at every step.
struct LinearMap {
  double ww, wm, mw, mm;
};

// Applies a map to a weight and its momentum.
template <class T>
[[gnu::always_inline]] constexpr void advance_linear_weight(const LinearMap& map, uint64_t dither, T& weight,
                                                            T& momentum) {
  const double w = weight, m = momentum;
  weight = round_evenly<T>(map.ww * w + map.wm * m, dither);
  momentum = round_normal<T>(map.mw * w + map.mm * m);
}

// Multiplies a weight by `keep`, then moves it towards zero by `threshold`.
template <class T>
[[gnu::always_inline]] constexpr void decay_weight(double keep, double threshold, uint64_t dither,
                                                   T& weight) {
  const double w = weight;
  weight = round_evenly<T>(soft_threshold(keep * w, threshold), dither);
}

// Idle steps that change each weight of a row in the same way.
struct IdleChange {
  LinearMap map;           // with momentum
  double keep, threshold;  // without momentum
  int64_t to;              // number of steps that the row has seen afterwards
  bool momentum;           // false: the state does not change
};

template <class T>
struct IdleKernels {
  // Applies the map to weights and their momentum [width].
  void (*advance_linear)(const LinearMap& map, int64_t step, T* weight, T* momentum, int64_t width);
  // Multiplies weights [width] by `keep`, then moves them towards zero by `threshold`.
  void (*advance_decay)(double keep, double threshold, int64_t step, T* weight, int64_t width);
};

}  // namespace ps

#endif  // PS_OPTIM_KERNELS_IDLE_H_
