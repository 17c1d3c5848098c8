// The loops over a row that sat out steps, compiled for each level of instruction sets.  Used by idle_row.cc,
// which has the coefficients.
#ifndef PS_OPTIM_KERNELS_IDLE_H_
#define PS_OPTIM_KERNELS_IDLE_H_

#include <cstdint>

namespace ps {

// w <- ww w + wm m, m <- mw w + mm m.  Doubles also for rows of floats: 1 - rate l2 is so near 1 that a
// rounded one would be off by more than it says, the same way at every step.
struct LinearMap {
  double ww, wm, mw, mm;
};

template <class T>
struct IdleKernels {
  // Weights and their momentum [width], by the map.
  void (*advance_linear)(const LinearMap& map, int64_t step, T* weight, T* momentum, int64_t width);
  // Weights [width] shrunk by `keep`, then moved towards zero by `threshold`.
  void (*advance_decay)(double keep, double threshold, int64_t step, T* weight, int64_t width);
};

}  // namespace ps

#endif  // PS_OPTIM_KERNELS_IDLE_H_
