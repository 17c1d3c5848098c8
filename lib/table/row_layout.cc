#include "table/row_layout.h"

#include <bit>
#include <cstring>

namespace ps {

// Floats from a row of `floats` to the next, by the rule of RowLayout.
static int64_t padded(int64_t floats, int64_t line) {
  if (floats <= line) return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(floats)));
  const int64_t whole = (floats + line - 1) / line * line;
  return (whole - floats) * 8 <= floats ? whole : (floats + 3) / 4 * 4;
}

RowLayout::RowLayout(int64_t width, int state_arrays, bool stamped)
    : width_(width),
      values_(width * (1 + state_arrays)),
      stride_(padded(values_ + stamped, kLine)),
      stamped_(stamped) {}

uint32_t RowLayout::stamp(const float* row) const {
  uint32_t stamp;
  std::memcpy(&stamp, row + values_, sizeof stamp);
  return stamp;
}

void RowLayout::set_stamp(float* row, int64_t steps) const {
  uint32_t stamp = static_cast<uint32_t>(steps);
  std::memcpy(row + values_, &stamp, sizeof stamp);
}

}  // namespace ps
