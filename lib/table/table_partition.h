// TablePartition: the rows of one table whose keys hash to one partition.  The unit that a thread or a shard
// owns.
//
// A row is found through an open-addressing index and never moves: its address is good until the partition
// ends.
#ifndef PS_TABLE_TABLE_PARTITION_H_
#define PS_TABLE_TABLE_PARTITION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "optim/optimizer.h"

namespace ps {

// How the floats of a row lie: weights, state arrays, then what the table keeps for itself.
//   row := weight[width] state[state_arrays * width] stamp:u32 key:u64          (stamp: steps that the row
//   has seen)
struct RowLayout {
  int64_t width;
  int state_arrays;

  int64_t values() const { return width * (1 + state_arrays); }
  int64_t stride() const { return values() + 3; }  // floats from a row to the next

  Row<float> row(float* start) const { return {start, start + width, width, width}; }
};

// One thread at a time.
class TablePartition {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit TablePartition(RowLayout layout);

  // The row's number, or kNone.  Rows are numbered from 0 in the order of insertion.
  uint32_t find(uint64_t key) const;

  // Adds a row for a key that is not there; its floats are not set.  Throws kExhausted without memory.
  uint32_t insert(uint64_t key);

  float* row(uint32_t number) const {
    return slabs_[number >> slab_bits_].get() +
           (number & slab_mask_) * static_cast<uint64_t>(layout_.stride());
  }
  uint64_t key(uint32_t number) const;
  uint32_t stamp(uint32_t number) const;
  void set_stamp(uint32_t number, uint32_t stamp);

  uint32_t size() const { return size_; }
  const RowLayout& layout() const { return layout_; }
  uint64_t memory_bytes() const;

 private:
  static constexpr uint64_t kEmpty = 0;

  void grow_index();

  const RowLayout layout_;
  uint32_t slab_bits_, slab_mask_;
  uint32_t size_ = 0;

  // index_[hash & mask]: the low half of the key's hash above, the row's number + 1 below; kEmpty when free.
  // At most 7/8 full; the low half of the hash is all that growing needs, so that it never touches the rows.
  std::vector<uint64_t> index_;
  std::vector<std::unique_ptr<float[]>> slabs_;
};

}  // namespace ps

#endif  // PS_TABLE_TABLE_PARTITION_H_
