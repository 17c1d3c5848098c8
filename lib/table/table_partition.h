// TablePartition: the rows of one table whose keys hash to one partition.  Partitions are distributed over
// threads and shards.
//
// A row never moves: its address is valid until it is erased, or until a spill writes its slab to disk.
#ifndef PS_TABLE_TABLE_PARTITION_H_
#define PS_TABLE_TABLE_PARTITION_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/huge_pages.h"
#include "table/key_index.h"
#include "table/row_slabs.h"

namespace ps {

// Tables have 2^kPartitionBits partitions, enough to share them evenly among threads and shards.
inline constexpr int kPartitionBits = 6;
inline constexpr uint32_t kPartitions = 1u << kPartitionBits;

// The partition of a key: the high bits of its hash.
inline uint32_t key_partition(uint64_t key) {
  return static_cast<uint32_t>(hash_key(key) >> (64 - kPartitionBits));
}

// Returns the number of buckets of each segment of a partition's index: a geometric sequence from 128 down to
// 64 over the partitions.  So the indexes of the partitions split one after the other while a table doubles,
// and together they take about the same memory a key at all sizes: 18.5 bytes divided by KeyIndex's greatest
// fill.  If all split at the same time, the numerator would vary from 12.8 to 25.6.  The partitions of one of
// n shards, every n-th, are spread as evenly.
inline uint32_t segment_buckets(uint32_t partition) {
  const double halvings = partition / static_cast<double>(1u << kPartitionBits);
  return static_cast<uint32_t>(std::lround(KeyIndex::kMaxBuckets * std::exp2(-halvings)));
}

// One thread at a time; the arena must outlive it.
class TablePartition {
 public:
  TablePartition(const RowLayout& layout, HugeArena& arena, uint32_t partition, RowSpill* spill = nullptr)
      : index_(arena, segment_buckets(partition)),
        rows_(layout, spill == nullptr ? kSlabBytes : RowSpill::kPage, arena, spill) {}

  // A look-up in two steps, as in KeyIndex: `bucket` returns the bucket to prefetch, `find` returns the row
  // or null.
  const KeyIndex::Bucket& bucket(uint64_t key) const { return index_.bucket(key); }
  float* find(uint64_t key, const KeyIndex::Bucket& bucket) const {
    const uint32_t number = index_.find(key, bucket);
    return number == KeyIndex::kNone ? nullptr : rows_.row(number);
  }

  // The first step of find, as in KeyIndex.  Returns null also if the row may be found in a later bucket.
  float* find_here(uint64_t key, const KeyIndex::Bucket& bucket) const {
    const uint32_t number = KeyIndex::find_here(key, bucket);
    return number == KeyIndex::kNone ? nullptr : rows_.row(number);
  }

  // The number of a key's row in rows(), or KeyIndex::kNone.
  uint32_t number(uint64_t key) const { return index_.find(key); }
  RowSlabs& rows() { return rows_; }
  const RowSlabs& rows() const { return rows_; }

  // Adds a row for a key that has none; its floats are not set.  Throws kExhausted when memory is full.
  float* insert(uint64_t key) {
    const uint32_t number = rows_.add();
    try {
      index_.insert(key, number);
    } catch (...) {
      rows_.remove(number);
      throw;
    }
    return rows_.row(number);
  }

  // As KeyIndex::reserve.
  void reserve(uint64_t rows) { index_.reserve(rows); }

  // Removes the row of a key; the next insertion reuses its memory.  Returns false when there is none.
  bool erase(uint64_t key) {
    const uint32_t number = index_.erase(key);
    if (number == KeyIndex::kNone) return false;
    rows_.remove(number);
    return true;
  }

  // Appends the keys of some more rows, as KeyIndex::scan does.
  bool scan(uint64_t& cursor, std::vector<uint64_t>& keys) const { return index_.scan(cursor, keys); }

  uint32_t size() const { return rows_.size(); }
  uint64_t memory_bytes() const { return index_.memory_bytes() + rows_.memory_bytes(); }

 private:
  static constexpr uint64_t kSlabBytes = 16 << 10;  // small, since a table has many partitions

  KeyIndex index_;  // maps keys to row numbers of rows_
  RowSlabs rows_;
};

}  // namespace ps

#endif  // PS_TABLE_TABLE_PARTITION_H_
