// RowBlock: rows of one table as they are kept: what checkpoints are written from, and what they give back.
#ifndef PS_TABLE_ROW_BLOCK_H_
#define PS_TABLE_ROW_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "table/row_layout.h"

namespace ps {

// Keys are ascending; each has the same number of values: its weights, then its state arrays.  Statistics are
// what else a row holds, in bits.
struct RowBlock {
  std::vector<uint64_t> keys;
  std::vector<float> values;      // [keys, values a row]
  std::vector<uint32_t> stamps;   // [keys]: steps that each row has seen; empty where rows need none
  std::vector<float> statistics;  // [keys, statistics a row]; empty where there are none

  size_t size() const { return keys.size(); }

  void clear() {
    keys.clear();
    values.clear();
    stamps.clear();
    statistics.clear();
  }
};

// A row as it lies in a table, to and from a block.
void append_row(const RowLayout& layout, uint64_t key, const float* row, RowBlock& block);
void copy_row(const RowLayout& layout, const RowBlock& block, size_t index, float* row);

}  // namespace ps

#endif  // PS_TABLE_ROW_BLOCK_H_
