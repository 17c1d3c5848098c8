// SnapshotRows: rows of one partition as they were when they were taken.  What a snapshot gives out; sorted
// by whoever has the time, since the table's owner has not.
#ifndef PS_TABLE_SNAPSHOT_ROWS_H_
#define PS_TABLE_SNAPSHOT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "table/row_block.h"
#include "table/row_layout.h"

namespace ps {

// One owner thread at a time.
class SnapshotRows {
 public:
  explicit SnapshotRows(const RowLayout& layout);

  // Copies the row of a key that is not among them yet.
  void add(uint64_t key, const float* row);

  size_t size() const { return keys_.size(); }

  // Calls take(rows) with all of them in the order of their keys, up to `at_once` in a block.
  void sorted(size_t at_once, const std::function<void(const RowBlock&)>& take) const;

 private:
  // What malloc gives from memory that it has, where larger pieces would be mapped, and cleared, each time.
  static constexpr size_t kSlabBytes = 64 << 10;

  const float* row(size_t index) const {
    return slabs_[index / slab_rows_].get() + index % slab_rows_ * floats_;
  }

  RowLayout layout_;
  size_t floats_, slab_rows_;
  std::vector<uint64_t> keys_;
  std::vector<std::unique_ptr<float[]>> slabs_;
};

}  // namespace ps

#endif  // PS_TABLE_SNAPSHOT_ROWS_H_
