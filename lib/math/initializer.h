// Initializer: draws the initial weights of a parameter.  A row's values depend on (seed, parameter, row)
// alone, so that rows need not exist until they are first updated, and any process draws the same ones, on
// any processor and at any level of instruction sets.
#ifndef PS_MATH_INITIALIZER_H_
#define PS_MATH_INITIALIZER_H_

#include <cstdint>
#include <span>

#include "base/cpu.h"

namespace ps {

enum class Distribution { kZero, kConstant, kNormal, kUniform };

struct Initializer {
  Distribution distribution = Distribution::kZero;
  double mean = 0;  // the value of kConstant
  // The standard deviation of kNormal; kUniform draws from [mean - deviation, mean + deviation).
  double deviation = 0;
  uint64_t seed = 0;  // of the job and the parameter, mixed

  // Draws the initial weights of row `row` (a key of a table, or a row index of a dense parameter), with the
  // loops of a level.
  void fill(uint64_t row, std::span<float> weights, CpuLevel cpu) const;
};

}  // namespace ps

#endif  // PS_MATH_INITIALIZER_H_
