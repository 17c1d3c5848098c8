// RowLayout: the layout of a row of a sparse table in memory.
#ifndef PS_TABLE_ROW_LAYOUT_H_
#define PS_TABLE_ROW_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "optim/row_policy.h"

namespace ps {

// A row holds weights and state, then a stamp and a history if it has them.
//   row     := weight[width] state[state_arrays * width] stamp:u32? history? padding
//   history := shows:f32[2] clicks:f32[2] unseen:f32
// Of two floats, the second is the rounding error of the first.
//
// A row of at most a cache line never crosses a line; a longer row begins at a line if the padding for that
// is at most 1/8 of it.  Constant after construction; any thread may use it.
class RowLayout {
 public:
  // A stamp is the number of steps that a row has seen; rows that zero gradients never change need none.
  // Rows of a table with a policy have a history.
  RowLayout(int64_t width, int state_arrays, bool stamped, bool has_history = false);

  int64_t width() const { return width_; }
  int64_t values() const { return values_; }  // floats of weights and state
  int64_t floats() const { return floats_; }  // all but the padding
  int64_t stride() const { return stride_; }  // floats from a row to the next
  bool stamped() const { return stamped_; }
  bool has_history() const { return has_history_; }

  Row<float> row(float* start) const { return {start, start + width_, width_, width_}; }

  // The stamp of a row; only for stamped rows.
  uint32_t stamp(const float* row) const;
  void set_stamp(float* row, int64_t steps) const;

  // Returns the names of the floats of a history, for checkpoints; none if rows have no history.
  std::vector<std::string> statistics() const;
  static const std::vector<std::string>& history_names();

  // Makes a history from the floats with these names, which may be those of a damaged file.
  static RowHistory to_history(const float* statistics);

  // The history of a row; only for rows that have one.
  RowHistory history(const float* row) const;
  void set_history(float* row, const RowHistory& history) const;

  // Prefetches the row's first cache lines, and the line of its stamp, which is read first; the hardware
  // prefetcher fetches the rest once work on the row has begun.
  void prefetch(const float* row) const {
    __builtin_prefetch(row, 1);
    if (values_ > kLine) __builtin_prefetch(row + kLine, 1);
    if (stamped_ && values_ >= 2 * kLine) __builtin_prefetch(row + values_, 1);
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(float);

  int64_t width_, values_, floats_, stride_;
  bool stamped_, has_history_;
};

// Returns the most memory that a row takes which is yet to be made.
inline uint64_t new_row_bytes(const RowLayout& layout) {
  constexpr uint64_t kIndexBytes = 24;  // the most bytes of index for one row
  return static_cast<uint64_t>(layout.stride()) * sizeof(float) + kIndexBytes;
}

}  // namespace ps

#endif  // PS_TABLE_ROW_LAYOUT_H_
