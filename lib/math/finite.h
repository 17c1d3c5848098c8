// Tests that floats from outside are neither NaN nor infinite.  Used by shards, before gradients and weights of
// trainers reach a table.
#ifndef PS_MATH_FINITE_H_
#define PS_MATH_FINITE_H_

#include <cstddef>

#include "base/cpu.h"

namespace ps {

// Returns true when all of the `count` values are numbers.
bool all_finite(const float* values, size_t count, CpuLevel cpu = best_cpu_level());

}  // namespace ps

#endif  // PS_MATH_FINITE_H_
