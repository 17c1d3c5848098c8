// KeyLists: the keys of some partitions of a table that does not keep its rows by partition, found in one
// look at all its rows.  Used by snapshots and checkpoints, which take the partitions one after the other.
#ifndef PS_TABLE_KEY_LISTS_H_
#define PS_TABLE_KEY_LISTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "table/row_storage.h"

namespace ps {

// One owner thread while it looks; then any may read.
class KeyLists {
 public:
  // Lists no partition.
  KeyLists() = default;

  // Lists partitions [first, end).
  KeyLists(uint32_t first, uint32_t end) : first_(first), lists_(end - first) {}

  // Appends the keys of some thousand more rows; false when all had their turn.  Between two calls rows may
  // come and go: keys that are there all the time are listed once.
  bool look(const RowStorage& rows);

  bool has(uint32_t partition) const { return partition >= first_ && partition - first_ < lists_.size(); }

  // Ascending; of a partition that it has.
  std::span<const uint32_t> of(uint32_t partition) const { return lists_[partition - first_]; }

  // Gives back the memory of a partition whose keys are not needed any more: of all at once, it takes long.
  void forget(uint32_t partition) { std::vector<uint32_t>().swap(lists_[partition - first_]); }

  uint64_t memory_bytes() const;

 private:
  uint32_t first_ = 0;
  std::vector<std::vector<uint32_t>> lists_;  // of first_ and those after it
  ScanCursor cursor_;
  std::vector<uint64_t> piece_;  // of the running call
};

}  // namespace ps

#endif  // PS_TABLE_KEY_LISTS_H_
