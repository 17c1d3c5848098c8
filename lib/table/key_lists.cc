#include "table/key_lists.h"

#include "table/table_partition.h"

namespace ps {

// Deals the keys of one more piece of the scan to the lists of their partitions; keys of partitions without
// a list are passed over.  scan_all gives them in ascending order, so each list ascends.
bool KeyLists::look(const RowStorage& rows) {
  piece_.clear();
  if (!rows.scan_all(cursor_, piece_)) return false;
  for (uint64_t key : piece_) {
    const uint32_t partition = key_partition(key);
    if (has(partition)) lists_[partition - first_].push_back(static_cast<uint32_t>(key));
  }
  return true;
}

uint64_t KeyLists::memory_bytes() const {
  uint64_t bytes = 0;
  for (const std::vector<uint32_t>& list : lists_) bytes += list.capacity() * sizeof list[0];
  return bytes;
}

}  // namespace ps
