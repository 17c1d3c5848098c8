#include "table/row_layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ps {

// Floats from a row of `floats` to the next, by the rule of RowLayout.
// A row of less than a line takes a power of two, which divides the line.  A longer one takes whole lines
// if they waste at most an eighth, else a multiple of 16 bytes.
static int64_t padded(int64_t floats, int64_t line) {
  if (floats <= line) return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(floats)));
  const int64_t whole = (floats + line - 1) / line * line;
  return (whole - floats) * 8 <= floats ? whole : (floats + 3) / 4 * 4;
}

// The number of floats of a history.
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

const std::vector<std::string>& RowLayout::history_names() {
  static const std::vector<std::string> names = {"shows", "shows_rest", "clicks", "clicks_rest", "unseen"};
  return names;
}

std::vector<std::string> RowLayout::statistics() const {
  return has_history_ ? history_names() : std::vector<std::string>();
}

// A float that a file holds in place of an age may be anything, and outside the integers its conversion would
// be undefined: it is moved to the nearest age, and one that is not a number to 0.
RowHistory RowLayout::to_history(const float* statistics) {
  constexpr float kMost = RowHistory::kMostUnseen;
  const float* at = statistics;
  const float unseen = at[4] > 0 ? std::min(at[4], kMost) : 0;
  return {double{at[0]} + double{at[1]}, double{at[2]} + double{at[3]}, static_cast<uint32_t>(unseen)};
}

RowHistory RowLayout::history(const float* row) const {
  return to_history(row + values_ + stamped_);
}

// Counts are doubles in two floats each: a float holds whole numbers up to 2^24 alone, and counts go on
// beyond.
void RowLayout::set_history(float* row, const RowHistory& history) const {
  float* at = row + values_ + stamped_;
  at[0] = static_cast<float>(history.shows);
  at[1] = static_cast<float>(history.shows - double{at[0]});
  at[2] = static_cast<float>(history.clicks);
  at[3] = static_cast<float>(history.clicks - double{at[2]});
  at[4] = static_cast<float>(history.unseen);
}

}  // namespace ps
