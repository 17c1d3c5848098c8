// The loops that apply idle steps to a row, compiled for each level of instruction sets.  Used by
// idle_row.cc, which computes the coefficients.
#ifndef PS_OPTIM_KERNELS_IDLE_H_
#define PS_OPTIM_KERNELS_IDLE_H_

#include <cstdint>

namespace ps {

// w <- ww w + wm m, m <- mw w + mm m.  The coefficients are doubles also for rows of floats: 1 - rate l2 is
// so near 1 that its rounding to float would change rate l2 itself, with the same error at every step.
struct LinearMap {
  double ww, wm, mw, mm;
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
