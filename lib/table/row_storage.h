// RowStorage: where the rows of a sparse table are, by key: behind hash indexes, or behind an array.  Used by
// TrainedRows and by snapshots.
#ifndef PS_TABLE_ROW_STORAGE_H_
#define PS_TABLE_ROW_STORAGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "table/row_layout.h"
#include "table/row_spill.h"

namespace ps {

// How far a scan of the keys of all rows has come.
struct ScanCursor {
  uint32_t partition = 0;
  uint64_t position = 0;
};

// Rows never move while they are there, unless there is a spill.  Index lines, then rows, lie anywhere in
// memory, and a core can wait for some sixty lines at once: keys are looked up many at a time, in groups, all
// of whose lines have been asked for.
class RowStorage {
 public:
  static constexpr size_t kGroup = 64;

  virtual ~RowStorage() = default;

  // rows[i] <- the row of keys[i], its first lines asked for, or null.  Puts the places i of those that are
  // not there into missing, ascending, which must have room for all, and returns how many they are.  Any
  // thread, while nothing is added.
  virtual size_t find(std::span<const uint64_t> keys, float** rows, uint32_t* missing) const = 0;

  // Where rows may be on disk: takes those of these keys to memory, where find and insert leave them until
  // the next fetch of any store of the spill.  To be called before find, which else gives null for what is on
  // disk.  Owner thread.  Throws as RowSpill::load.
  virtual void fetch(std::span<const uint64_t>) {}

  // As find, for reading alone and without a fetch: what is on disk is read into `copies`.  Owner thread
  // where there is a spill.
  virtual size_t find_to_read(std::span<const uint64_t> keys, float** rows, uint32_t* missing,
                              std::vector<float>& /*copies*/) {
    return find(keys, rows, missing);
  }

  // rows[i] <- a new row for keys[i], its floats not set.  The keys differ and are not there yet.  Throws
  // kExhausted without memory.  Owner thread.
  virtual void insert(std::span<const uint64_t> keys, float** rows, ThreadPool& pool) = 0;

  // The same for keys of one partition, where adds_to_partitions(): any threads, each with partitions of its
  // own.
  virtual bool adds_to_partitions() const { return false; }
  virtual void insert_in(uint32_t /*partition*/, std::span<const uint64_t>, float** /*rows*/) {}

  // Makes room for so many rows of a partition that has none, likewise.
  virtual void reserve_in(uint32_t /*partition*/, uint64_t /*rows*/) {}

  // Removes the rows of those keys that are there, and returns how many they were.  Their places are the
  // next that insert gives, in a partition the last first.  Owner thread.
  virtual size_t erase(std::span<const uint64_t> keys) = 0;

  // Appends the keys of some more rows of a partition, some thousand at most, from cursor 0 on; false when
  // there are no more.  Between two calls rows may come and go: a key that is there all the time is given
  // once, or, as the index grows, twice.
  virtual bool scan(uint32_t partition, uint64_t& cursor, std::vector<uint64_t>& keys) const = 0;

  // True when scan looks at the rows of its partition alone.  Else it looks at all rows each time, so that a
  // caller that goes through all partitions lists their keys before (key_lists.h); keys are then below 2^32,
  // and scan_all gives them in ascending order.
  virtual bool scans_partitions() const { return true; }

  // As scan, for all partitions.
  virtual bool scan_all(ScanCursor& cursor, std::vector<uint64_t>& keys) const = 0;

  // Calls prepare(keys), then body(key, row) for each of them, until all rows of a partition had their turn,
  // in no order that means anything.  Both may write the rows, but not insert or erase.
  template <class Prepare, class Body>
  void for_each_row(uint32_t partition, Prepare&& prepare, Body&& body);

  // A bit on each row, for the running snapshot.  out <- those of the keys that have a row without it,
  // in a partition from `first` on, with their rows, to be read; and sets it there.  Owner thread.
  struct Captured {
    std::vector<uint64_t> keys;
    std::vector<float*> rows;
    std::vector<float> copies;  // of rows on disk
  };
  virtual void capture(std::span<const uint64_t> keys, uint32_t first, Captured& out) = 0;
  virtual void clear_captured() = 0;

  // Keys of all rows, ascending.
  virtual std::vector<uint64_t> sorted_keys() const = 0;

  virtual uint64_t size() const = 0;

  // Rows of one partition.  This one counts their keys.
  virtual uint64_t partition_size(uint32_t partition) const;

  virtual uint64_t memory_bytes() const = 0;
};

template <class Prepare, class Body>
void RowStorage::for_each_row(uint32_t partition, Prepare&& prepare, Body&& body) {
  std::vector<uint64_t> keys;
  std::vector<float*> rows;
  std::vector<uint32_t> missing;
  std::vector<float> copies;
  for (uint64_t cursor = 0; scan(partition, cursor, keys); keys.clear()) {
    rows.resize(keys.size());
    missing.resize(keys.size());
    prepare(std::span<const uint64_t>(keys));
    find_to_read(keys, rows.data(), missing.data(), copies);
    for (size_t i = 0; i < keys.size(); ++i) body(keys[i], rows[i]);
  }
}

inline uint64_t RowStorage::partition_size(uint32_t partition) const {
  std::vector<uint64_t> keys;
  for (uint64_t cursor = 0; scan(partition, cursor, keys);) continue;
  return keys.size();
}

// For any keys: hash indexes.  With `spill`, which must outlive it, rows may be on disk; the indexes are not.
std::unique_ptr<RowStorage> make_hashed_rows(const RowLayout& layout, RowSpill* spill = nullptr);

// For keys below `bound`, which is up to 2^32: an array of row numbers, 4 bytes for each key that there may
// be.  It takes one line a look-up as the hash index does, but no comparing and no splitting.
std::unique_ptr<RowStorage> make_array_rows(const RowLayout& layout, uint64_t bound);

}  // namespace ps

#endif  // PS_TABLE_ROW_STORAGE_H_
