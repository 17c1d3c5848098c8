// A table of narrow rows, which begin with drawn weights.  Used by the tests of RowCache.
#ifndef PS_TESTS_UNIT_DEVICE_NARROW_TABLE_H_
#define PS_TESTS_UNIT_DEVICE_NARROW_TABLE_H_

#include <cstdint>

#include "optim/parameter.h"

namespace ps {

inline constexpr int64_t kWidth = 3;

inline ParameterSpec table_spec() {
  ParameterSpec spec;
  spec.name = "table";
  spec.kind = ParameterKind::kRows;
  spec.sparse = true;
  spec.cols = kWidth;
  spec.initializer = {Distribution::kUniform, 0, 1, 5};
  return spec;
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_DEVICE_NARROW_TABLE_H_
