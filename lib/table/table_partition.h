// TablePartition: the rows of one table whose keys hash to one partition.  The unit that a thread or a shard
// owns.
//
// A row never moves: its address is good until the table ends.
#ifndef PS_TABLE_TABLE_PARTITION_H_
#define PS_TABLE_TABLE_PARTITION_H_

#include <cstdint>
#include <vector>

#include "base/huge_pages.h"
#include "optim/optimizer.h"
#include "table/key_index.h"

namespace ps {

// How the floats of a row lie: weights and state side by side, then the stamp, when there is one.
//   row := weight[width] state[state_arrays * width] stamp:u32? padding
// A row of up to a cache line never crosses one; a longer one begins with one, when that costs up to 1/8.
class RowLayout {
 public:
  // Rows that zero gradients never change need no stamp: the steps that they have seen.
  RowLayout(int64_t width, int state_arrays, bool stamped);

  int64_t width() const { return width_; }
  int64_t values() const { return values_; }  // floats of weights and state
  int64_t stride() const { return stride_; }  // floats from a row to the next
  bool stamped() const { return stamped_; }

  Row<float> row(float* start) const { return {start, start + width_, width_, width_}; }

  // Only of stamped rows.
  uint32_t stamp(const float* row) const;
  void set_stamp(float* row, int64_t steps) const;

  // Asks for the row's first lines; the processor follows by itself once work on it has begun.
  void prefetch(const float* row) const {
    __builtin_prefetch(row, 1);
    if (values_ > kLine) __builtin_prefetch(row + kLine, 1);
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(float);

  int64_t width_, values_, stride_;
  bool stamped_;
};

// One thread at a time; the arena must outlive it.
class TablePartition {
 public:
  TablePartition(RowLayout layout, HugeArena& arena);

  // A look-up in two steps, as in KeyIndex: the bucket to prefetch, then the row, or null.
  const KeyIndex::Bucket& bucket(uint64_t key) const { return index_.bucket(key); }
  float* find(uint64_t key, const KeyIndex::Bucket& bucket) const {
    uint32_t number = index_.find(key, bucket);
    return number == KeyIndex::kNone ? nullptr : row(number);
  }
  float* find(uint64_t key) const { return find(key, bucket(key)); }

  // Adds a row for a key that is not there; its floats are not set.  Throws kExhausted without memory.
  float* insert(uint64_t key);

  // Calls body(key) for every key, in no order that means anything.
  template <class Body>
  void for_each_key(Body&& body) const {
    index_.for_each([&](uint64_t key, uint32_t) { body(key); });
  }

  uint32_t size() const { return size_; }
  uint64_t memory_bytes() const;

 private:
  float* row(uint32_t number) const {
    return slabs_[number >> slab_bits_] + (number & slab_mask_) * static_cast<uint64_t>(layout_.stride());
  }
  uint64_t slab_bytes() const {
    return (uint64_t{1} << slab_bits_) * static_cast<uint64_t>(layout_.stride()) * sizeof(float);
  }

  RowLayout layout_;
  HugeArena* arena_;
  uint32_t slab_bits_, slab_mask_;
  uint32_t size_ = 0;
  KeyIndex index_;             // gives numbers: from 0 in the order of insertion
  std::vector<float*> slabs_;  // 2^slab_bits_ rows each
};

}  // namespace ps

#endif  // PS_TABLE_TABLE_PARTITION_H_
