// The loops that draw initial weights, compiled once for each level of instruction sets.  Used by
// Initializer.
//
// Counter (row, j) of philox (base/random.h) gives columns 4 j … 4 j + 3. Logarithm, sine and cosine are
// written out here, since a library's may round differently from one processor to the next; these give the
// same bits on all.
#ifndef PS_MATH_KERNELS_INITIAL_H_
#define PS_MATH_KERNELS_INITIAL_H_

#include <cstdint>

namespace ps {

struct InitialKernels {
  // weights [width] <- mean + deviation x, x normal
  void (*fill_normal)(uint64_t seed, uint64_t row, float mean, float deviation, float* weights,
                      int64_t width);
  // weights [width] <- mean + deviation x, x uniform in [-1, 1)
  void (*fill_uniform)(uint64_t seed, uint64_t row, float mean, float deviation, float* weights,
                       int64_t width);
};

}  // namespace ps

#endif  // PS_MATH_KERNELS_INITIAL_H_
