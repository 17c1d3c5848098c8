// RowLayout: how the floats of a row of a sparse table lie in memory.
#ifndef PS_TABLE_ROW_LAYOUT_H_
#define PS_TABLE_ROW_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "optim/row_policy.h"

namespace ps {

// Weights and state side by side, then the stamp and the history, when there are any.
//   row     := weight[width] state[state_arrays * width] stamp:u32? history? padding
//   history := shows:f32[2] clicks:f32[2] unseen:f32      of two floats, the second is what the first rounds
//   off
// A row of up to a cache line never crosses one; a longer one begins with one, when that costs up to 1/8.
class RowLayout {
 public:
  // Rows that zero gradients never change need no stamp: the steps that they have seen.  Rows that come and
  // go have a history.
  RowLayout(int64_t width, int state_arrays, bool stamped, bool has_history = false);

  int64_t width() const { return width_; }
  int64_t values() const { return values_; }  // floats of weights and state
  int64_t floats() const { return floats_; }  // all but the padding
  int64_t stride() const { return stride_; }  // floats from a row to the next
  bool stamped() const { return stamped_; }
  bool has_history() const { return has_history_; }

  Row<float> row(float* start) const { return {start, start + width_, width_, width_}; }

  // Only of stamped rows.
  uint32_t stamp(const float* row) const;
  void set_stamp(float* row, int64_t steps) const;

  // Names of the floats of a history, for checkpoints; none where rows have none.
  std::vector<std::string> statistics() const;
  static const std::vector<std::string>& history_names();

  // A history of the floats that are so named.
  static RowHistory to_history(const float* statistics);

  // Only of rows with a history.
  RowHistory history(const float* row) const;
  void set_history(float* row, const RowHistory& history) const;

  // Asks for the row's first lines, and that of the stamp, which is read first; the processor follows by
  // itself once work on it has begun.
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

}  // namespace ps

#endif  // PS_TABLE_ROW_LAYOUT_H_
