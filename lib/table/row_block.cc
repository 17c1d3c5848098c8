#include "table/row_block.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

void append_row(const RowLayout& layout, uint64_t key, const float* row, RowBlock& block) {
  const float* const statistics = row + layout.values() + layout.stamped();
  block.keys.push_back(key);
  block.values.insert(block.values.end(), row, row + layout.values());
  if (layout.stamped()) block.stamps.push_back(layout.stamp(row));
  block.statistics.insert(block.statistics.end(), statistics, row + layout.floats());
}

void copy_row(const RowLayout& layout, const RowBlock& block, size_t index, float* row) {
  const size_t values = static_cast<size_t>(layout.values());
  const size_t statistics = static_cast<size_t>(layout.floats() - layout.values() - layout.stamped());
  PS_CHECK(!layout.stamped() || index < block.stamps.size());
  PS_CHECK((index + 1) * values <= block.values.size() &&
           (index + 1) * statistics <= block.statistics.size());
  std::copy_n(block.values.data() + index * values, values, row);
  if (layout.stamped()) layout.set_stamp(row, block.stamps[index]);
  std::copy_n(block.statistics.data() + index * statistics, statistics, row + layout.floats() - statistics);
}

}  // namespace ps
