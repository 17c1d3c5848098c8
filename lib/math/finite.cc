#include "math/finite.h"

#include "math/kernels/kernels.h"

namespace ps {

bool all_finite(const float* values, size_t count, CpuLevel cpu) {
  return math_kernels<float>(cpu).all_finite(values, static_cast<int64_t>(count));
}

}  // namespace ps
