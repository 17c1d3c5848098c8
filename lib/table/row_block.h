// RowBlock: rows of one table as they are kept: what checkpoints are written from, and what they give back.
#ifndef PS_TABLE_ROW_BLOCK_H_
#define PS_TABLE_ROW_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ps {

// Keys are ascending; each has the same number of values: its weights, then its state arrays.
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

}  // namespace ps

#endif  // PS_TABLE_ROW_BLOCK_H_
