// RowBlock: rows of one table in the form in which checkpoints write and restore them.
#ifndef PS_TABLE_ROW_BLOCK_H_
#define PS_TABLE_ROW_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/row_layout.h"

namespace ps {

// Keys are ascending; each has the same number of values: its weights, then its state arrays.  Statistics are
// the other floats of a row, bit for bit.
struct RowBlock {
  std::vector<uint64_t> keys;
  std::vector<float> values;      // [keys, values a row]
  std::vector<uint32_t> stamps;   // [keys]: steps that each row has seen; empty if rows have no stamps
  std::vector<float> statistics;  // [keys, statistics a row]; empty if there are none

  size_t size() const { return keys.size(); }

  void clear() {
    keys.clear();
    values.clear();
    stamps.clear();
    statistics.clear();
  }
};

// Appends rows of a table to a block: rows[i] is the row of keys[i].
void append_rows(const RowLayout& layout, std::span<const uint64_t> keys, const float* const* rows,
                 RowBlock& block);

// Copies row number `index` of a block to a row of a table: copy_row all of it, copy_values weights, state and
// stamp.
void copy_values(const RowLayout& layout, const RowBlock& block, size_t index, float* row);
void copy_row(const RowLayout& layout, const RowBlock& block, size_t index, float* row);

}  // namespace ps

#endif  // PS_TABLE_ROW_BLOCK_H_
