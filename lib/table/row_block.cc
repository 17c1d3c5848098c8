#include "table/row_block.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace ps {

// Appends `count` floats of each row from `first` on.
static void append_floats(const float* const* rows, size_t num_rows, size_t first, size_t count,
                          std::vector<float>& out) {
  if (count == 0) return;
  const size_t before = out.size();
  out.resize(before + num_rows * count);
  float* to = out.data() + before;
  for (size_t i = 0; i < num_rows; ++i, to += count) std::memcpy(to, rows[i] + first, count * sizeof(float));
}

// A block has an array for each kind of number, so rows are taken apart: values first, then statistics,
// which lie behind the stamp, then stamps.
void append_rows(const RowLayout& layout, std::span<const uint64_t> keys, const float* const* rows,
                 RowBlock& block) {
  const size_t values = static_cast<size_t>(layout.values());
  const size_t before_statistics = values + layout.stamped();
  block.keys.insert(block.keys.end(), keys.begin(), keys.end());
  append_floats(rows, keys.size(), 0, values, block.values);
  append_floats(rows, keys.size(), before_statistics,
                static_cast<size_t>(layout.floats()) - before_statistics, block.statistics);
  if (!layout.stamped()) return;
  for (size_t i = 0; i < keys.size(); ++i) block.stamps.push_back(layout.stamp(rows[i]));
}

void copy_values(const RowLayout& layout, const RowBlock& block, size_t index, float* row) {
  const size_t values = static_cast<size_t>(layout.values());
  PS_CHECK(!layout.stamped() || index < block.stamps.size());
  PS_CHECK((index + 1) * values <= block.values.size());
  std::copy_n(block.values.data() + index * values, values, row);
  if (layout.stamped()) layout.set_stamp(row, block.stamps[index]);
}

void copy_row(const RowLayout& layout, const RowBlock& block, size_t index, float* row) {
  const size_t statistics = static_cast<size_t>(layout.floats() - layout.values() - layout.stamped());
  PS_CHECK((index + 1) * statistics <= block.statistics.size());
  copy_values(layout, block, index, row);
  std::copy_n(block.statistics.data() + index * statistics, statistics, row + layout.floats() - statistics);
}

}  // namespace ps
