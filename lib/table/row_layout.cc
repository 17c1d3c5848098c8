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

// Floats that a history takes, which lies at no alignment of its own.
constexpr int64_t kHistory = 5;

RowLayout::RowLayout(int64_t width, int state_arrays, bool stamped, bool has_history)
    : width_(width),
      values_(width * (1 + state_arrays)),
      floats_(values_ + stamped + (has_history ? kHistory : 0)),
      stride_(padded(floats_, kLine)),
      stamped_(stamped),
      has_history_(has_history) {}

uint32_t RowLayout::stamp(const float* row) const {
  uint32_t stamp;
  std::memcpy(&stamp, row + values_, sizeof stamp);
  return stamp;
}

void RowLayout::set_stamp(float* row, int64_t steps) const {
  uint32_t stamp = static_cast<uint32_t>(steps);
  std::memcpy(row + values_, &stamp, sizeof stamp);
}

RowHistory RowLayout::history(const float* row) const {
  const float* at = row + values_ + stamped_;
  RowHistory history;
  std::memcpy(&history.shows, at, sizeof history.shows);
  std::memcpy(&history.clicks, at + 2, sizeof history.clicks);
  std::memcpy(&history.unseen, at + 4, sizeof history.unseen);
  return history;
}

void RowLayout::set_history(float* row, const RowHistory& history) const {
  float* at = row + values_ + stamped_;
  std::memcpy(at, &history.shows, sizeof history.shows);
  std::memcpy(at + 2, &history.clicks, sizeof history.clicks);
  std::memcpy(at + 4, &history.unseen, sizeof history.unseen);
}

}  // namespace ps
