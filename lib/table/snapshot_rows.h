// SnapshotRows: copies of the rows of one partition, made by a snapshot.  The thread that writes the
// checkpoint sorts them, to save time of the table's owner thread.  Used by snapshots and by code that writes
// them.
#ifndef PS_TABLE_SNAPSHOT_ROWS_H_
#define PS_TABLE_SNAPSHOT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "table/row_block.h"
#include "table/row_layout.h"

namespace ps {

// Memory for the rows of one snapshot, in slabs.  Slabs of written rows are reused, since touching memory for
// the first time costs as much as copying rows to it.  Any thread.
class SnapshotSlabs {
 public:
  using Slab = std::unique_ptr<float[]>;

  explicit SnapshotSlabs(const RowLayout& layout);

  size_t row_floats() const { return row_floats_; }
  uint32_t bits() const { return bits_; }  // a slab holds 2^bits rows

  Slab take();
  void give_back(std::vector<Slab> slabs);

 private:
  const size_t row_floats_;
  const uint32_t bits_;
  std::mutex mutex_;
  std::vector<Slab> free_;  // guarded by mutex_
};

// One owner thread at a time.
class SnapshotRows {
 public:
  SnapshotRows(const RowLayout& layout, std::shared_ptr<SnapshotSlabs> memory);
  ~SnapshotRows();
  SnapshotRows(SnapshotRows&&) = default;
  SnapshotRows& operator=(SnapshotRows&&) = default;

  // Copies the row of a key.  No key may be added twice.
  void add(uint64_t key, const float* row);

  size_t size() const { return keys_.size(); }

  // Calls take(rows) with all rows in the order of their keys, up to `at_once` in a block.
  void sorted(size_t at_once, const std::function<void(const RowBlock&)>& take) const;

 private:
  float* row(size_t index) const {
    const size_t mask = (size_t{1} << memory_->bits()) - 1;
    return slabs_[index >> memory_->bits()].get() + (index & mask) * memory_->row_floats();
  }

  RowLayout layout_;
  std::shared_ptr<SnapshotSlabs> memory_;
  std::vector<uint64_t> keys_;
  std::vector<SnapshotSlabs::Slab> slabs_;
};

// Takes the rows of one partition; empty partitions are left out.  Partitions come in ascending order.  It
// must not throw, since a writer of the table may call it in the middle of a step.
using SnapshotSink = std::function<void(uint32_t partition, SnapshotRows&& rows)>;

}  // namespace ps

#endif  // PS_TABLE_SNAPSHOT_ROWS_H_
