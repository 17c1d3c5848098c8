// RowLayout: how the floats of a row of a sparse table lie in memory.
#ifndef PS_TABLE_ROW_LAYOUT_H_
#define PS_TABLE_ROW_LAYOUT_H_

#include <cstdint>

#include "optim/optimizer.h"

namespace ps {

// Weights and state side by side, then the stamp, when there is one.
//   row := weight[width] state[state_arrays * width] stamp:u32? padding
// A row of up to a cache line never crosses one; a longer one begins with one, when that costs up to 1/8.
class RowLayout {
 public:
  // Rows that zero gradients never change need no stamp: the steps that they have seen.
  RowLayout(int64_t width, int state_arrays, bool stamped);

  int64_t width() const { return width_; }
  int64_t values() const { return values_; }             // floats of weights and state
  int64_t floats() const { return values_ + stamped_; }  // all but the padding
  int64_t stride() const { return stride_; }             // floats from a row to the next
  bool stamped() const { return stamped_; }

  Row<float> row(float* start) const { return {start, start + width_, width_, width_}; }

  // Only of stamped rows.
  uint32_t stamp(const float* row) const;
  void set_stamp(float* row, int64_t steps) const;

  // Asks for the row's first lines; the processor follows by itself once work on it has begun.
  void prefetch(const float* row) const {
    __builtin_prefetch(row, 1);
    if (values_ > kLine) __builtin_prefetch(row + kLine, 1);
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(float);

  int64_t width_, values_, stride_;
  bool stamped_;
};

}  // namespace ps

#endif  // PS_TABLE_ROW_LAYOUT_H_
