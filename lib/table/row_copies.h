// Gathers rows from memory into one array.  Used by shards for answers to pulls, by trainers for pushes.
#ifndef PS_TABLE_ROW_COPIES_H_
#define PS_TABLE_ROW_COPIES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ps {

// out [count, cols] <- the rows at row_at(0) … row_at(count - 1); returns the end of `out`.  Rows of a few
// cache lines are copied line by line, since calling memmove for each took longer than the copying itself.
template <class RowAt>
float* copy_rows(size_t count, size_t cols, RowAt&& row_at, float* out) {
  constexpr size_t kLine = 64 / sizeof(float), kMostLines = 16;
  if (cols == 1) {
    for (size_t n = 0; n < count; ++n) *out++ = *row_at(n);
    return out;
  }
  if (cols % kLine != 0 || cols > kMostLines * kLine) {
    for (size_t n = 0; n < count; ++n) out = std::copy_n(row_at(n), cols, out);
    return out;
  }
  for (size_t n = 0; n < count; ++n) {
    const float* row = row_at(n);
    for (size_t j = 0; j < cols; j += kLine, out += kLine) std::memcpy(out, row + j, kLine * sizeof(float));
  }
  return out;
}

}  // namespace ps

#endif  // PS_TABLE_ROW_COPIES_H_
