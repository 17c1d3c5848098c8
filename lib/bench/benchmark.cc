#include "bench/benchmark.h"

#include <cmath>

#include "base/error.h"

namespace ps {

void expect_near(std::string_view what, double found, double expected, double tolerance) {
  // This comparison fails for NaN.
  if (std::abs(found - expected) <= tolerance * std::abs(expected)) return;
  fail(Code::kInternal, what, ": ", found, ", expected ", expected);
}

void expect_equal(std::string_view what, uint64_t found, uint64_t expected) {
  if (found == expected) return;
  fail(Code::kInternal, what, ": ", found, ", expected ", expected);
}

}  // namespace ps
