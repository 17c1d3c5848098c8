// KeyLists: the keys of some partitions of a table that does not keep its rows by partition, collected in one
// scan of all rows.  Used by snapshots and checkpoints, which write the partitions one after the other.
#ifndef PS_TABLE_KEY_LISTS_H_
#define PS_TABLE_KEY_LISTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "table/row_storage.h"

namespace ps {

// One owner thread during the scan; then any thread may read.
class KeyLists {
 public:
  // Lists no partition.
  KeyLists() = default;

  // Lists partitions [first, end).
  KeyLists(uint32_t first, uint32_t end) : first_(first), lists_(end - first) {}

  // Scans some thousand more rows.  Returns false when all rows were scanned.  Rows may be added and erased
  // between two calls: keys that are present all the time are listed once.
  bool look(const RowStorage& rows);

  bool has(uint32_t partition) const { return partition >= first_ && partition - first_ < lists_.size(); }

  // Returns the keys of a listed partition in ascending order.
  std::span<const uint32_t> of(uint32_t partition) const { return lists_[partition - first_]; }

  // Frees the memory of a partition whose keys are not needed any more.  Freeing all partitions at once would
  // block the thread for long.
  void forget(uint32_t partition) { std::vector<uint32_t>().swap(lists_[partition - first_]); }

  uint64_t memory_bytes() const;

 private:
  uint32_t first_ = 0;
  std::vector<std::vector<uint32_t>> lists_;  // keys of partitions first_, first_ + 1, …
  ScanCursor cursor_;
  std::vector<uint64_t> piece_;  // scratch memory of a call of look
};

}  // namespace ps

#endif  // PS_TABLE_KEY_LISTS_H_
