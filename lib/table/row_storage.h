// RowStorage: finds and stores the rows of a sparse table by key, through hash indexes or through an array.
// Used by TrainedRows and by snapshots.
#ifndef PS_TABLE_ROW_STORAGE_H_
#define PS_TABLE_ROW_STORAGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "math/device.h"
#include "table/row_layout.h"
#include "table/row_spill.h"

namespace ps {

// The position of a scan of the keys of all rows.
struct ScanCursor {
  uint32_t partition = 0;
  uint64_t position = 0;
};

// Rows never move until they are erased, except with a spill.  A look-up touches a cache line of the index
// and lines of the row, anywhere in memory.  A core can fetch some sixty lines at the same time, so keys are
// looked up many at a time: in groups, after the lines of the whole group have been prefetched.
class RowStorage {
 public:
  static constexpr size_t kGroup = 64;

  virtual ~RowStorage() = default;

  // rows[i] <- the row of keys[i], with its first lines prefetched, or null.  Writes the positions i of
  // missing keys to `missing` in ascending order, which must have room for all keys, and returns their
  // number.  Any thread, while no thread adds rows.
  virtual size_t find(std::span<const uint64_t> keys, float** rows, uint32_t* missing) const = 0;

  // With a spill: brings the rows of these keys into memory, where they stay until the next call of fetch for
  // any table of the spill.  To be called before find, which gives null for rows on disk.  Owner thread.
  // Throws as RowSpill::load does.
  virtual void fetch(std::span<const uint64_t>) {}

  // Like find, but for reading only and without a fetch: rows on disk are read into `copies`.  Owner thread
  // if there is a spill.
  virtual size_t find_to_read(std::span<const uint64_t> keys, float** rows, uint32_t* missing,
                              std::vector<float>& /*copies*/) {
    return find(keys, rows, missing);
  }

  // rows[i] <- a new row for keys[i], whose floats are not set.  The keys must be distinct and have no rows
  // yet.  Throws kExhausted when memory is full.  Owner thread.
  virtual void insert(std::span<const uint64_t> keys, float** rows, Device& device) = 0;

  // The same for keys of one partition, if adds_to_partitions(): different threads may insert into different
  // partitions.
  virtual bool adds_to_partitions() const { return false; }
  virtual void insert_in(uint32_t /*partition*/, std::span<const uint64_t>, float** /*rows*/) {}

  // Reserves room for so many rows in an empty partition, under the same conditions.
  virtual void reserve_in(uint32_t /*partition*/, uint64_t /*rows*/) {}

  // Removes the rows of those keys that have one, and returns their number.  Insert reuses their memory,
  // within a partition the last removed first.  Owner thread.
  virtual size_t erase(std::span<const uint64_t> keys) = 0;

  // Appends the keys of some more rows of a partition, at most some thousand, and advances the cursor, which
  // begins at 0.  Returns false at the end.  Rows may be added and erased between two calls: a key that is
  // present all the time is given once, or twice if the index grew meanwhile.
  virtual bool scan(uint32_t partition, uint64_t& cursor, std::vector<uint64_t>& keys) const = 0;

  // Returns true if scan visits the rows of its partition alone.  Otherwise each scan visits all rows, so a
  // caller that goes through all partitions should list their keys first (key_lists.h); keys are then below
  // 2^32, and scan_all gives them in ascending order.
  virtual bool scans_partitions() const { return true; }

  // Like scan, for all partitions.
  virtual bool scan_all(ScanCursor& cursor, std::vector<uint64_t>& keys) const = 0;

  // Visits all rows of a partition in an arbitrary order: calls prepare(keys) for some of them, then
  // body(key, row) for each.  Both may write the rows, but neither may insert or erase. visit does so for the
  // rows of these keys.
  template <class Prepare, class Body>
  void for_each_row(uint32_t partition, Prepare&& prepare, Body&& body);
  template <class Prepare, class Body>
  void visit(std::span<const uint64_t> keys, Prepare&& prepare, Body&& body);

  // Each row has a bit that tells if the running snapshot has copied it. out <- the keys whose row's bit is
  // not set, in partitions from `first` on, with their rows for reading; sets the bit of each.  Owner thread.
  struct Captured {
    std::vector<uint64_t> keys;
    std::vector<float*> rows;
    std::vector<float> copies;  // copies of rows on disk, to which `rows` points
  };
  virtual void capture(std::span<const uint64_t> keys, uint32_t first, Captured& out) = 0;
  virtual void clear_captured() = 0;

  // Keys of all rows, ascending.
  virtual std::vector<uint64_t> sorted_keys() const = 0;

  virtual uint64_t size() const = 0;

  // Returns the number of rows of a partition.  This implementation scans and counts.
  virtual uint64_t partition_size(uint32_t partition) const;

  virtual uint64_t memory_bytes() const = 0;
};

template <class Prepare, class Body>
void RowStorage::for_each_row(uint32_t partition, Prepare&& prepare, Body&& body) {
  std::vector<uint64_t> keys;
  for (uint64_t cursor = 0; scan(partition, cursor, keys); keys.clear())
    visit(std::span<const uint64_t>(keys), prepare, body);
}

template <class Prepare, class Body>
void RowStorage::visit(std::span<const uint64_t> keys, Prepare&& prepare, Body&& body) {
  std::vector<float*> rows(keys.size());
  std::vector<uint32_t> missing(keys.size());
  std::vector<float> copies;
  prepare(keys);
  find_to_read(keys, rows.data(), missing.data(), copies);
  for (size_t i = 0; i < keys.size(); ++i) body(keys[i], rows[i]);
}

inline uint64_t RowStorage::partition_size(uint32_t partition) const {
  std::vector<uint64_t> keys;
  for (uint64_t cursor = 0; scan(partition, cursor, keys);) continue;
  return keys.size();
}

// Makes a storage with hash indexes, for any keys.  With `spill`, which must outlive it, rows may be on disk;
// indexes stay in memory.
std::unique_ptr<RowStorage> make_hashed_rows(const RowLayout& layout, RowSpill* spill = nullptr);

// Makes a storage for keys below `bound` <= 2^32, with an array of row numbers: 4 bytes for each possible
// key.  A look-up touches one cache line, like that of a hash index, but compares no keys, and the array
// never splits.
std::unique_ptr<RowStorage> make_array_rows(const RowLayout& layout, uint64_t bound);

}  // namespace ps

#endif  // PS_TABLE_ROW_STORAGE_H_
