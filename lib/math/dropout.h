// The kernel that draws which values dropout passes on.  Used by the layer dropout.  T is float or double.
#ifndef PS_MATH_DROPOUT_H_
#define PS_MATH_DROPOUT_H_

#include <cstdint>

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// factors [B, D] <- 0 with probability `rate`, else 1 / (1 - rate); example b draws from stream b of the seed.
// The processor draws for every device; a device with memory of its own gets a copy.
template <class T>
void draw_dropout(Device& device, uint64_t seed, double rate, Matrix<T> factors);

}  // namespace ps

#endif  // PS_MATH_DROPOUT_H_
