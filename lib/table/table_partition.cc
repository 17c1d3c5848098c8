#include "table/table_partition.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace ps {

namespace {

constexpr uint64_t kSlabBytes = 16 << 10;  // small, since there are many partitions a table

// Floats from a row of `floats` to the next, by the rule of RowLayout.
int64_t padded(int64_t floats, int64_t line) {
  if (floats <= line) return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(floats)));
  const int64_t whole = (floats + line - 1) / line * line;
  return (whole - floats) * 8 <= floats ? whole : (floats + 3) / 4 * 4;
}

}  // namespace

RowLayout::RowLayout(int64_t width, int state_arrays, bool stamped)
    : width_(width),
      values_(width * (1 + state_arrays)),
      stride_(padded(values_ + stamped, kLine)),
      stamped_(stamped) {}

uint32_t RowLayout::stamp(const float* row) const {
  uint32_t stamp;
  std::memcpy(&stamp, row + values_, sizeof stamp);
  return stamp;
}

void RowLayout::set_stamp(float* row, int64_t steps) const {
  uint32_t stamp = static_cast<uint32_t>(steps);
  std::memcpy(row + values_, &stamp, sizeof stamp);
}

TablePartition::TablePartition(RowLayout layout, HugeArena& arena)
    : layout_(layout), arena_(&arena), index_(arena) {
  uint64_t rows =
      std::max<uint64_t>(1, kSlabBytes / (static_cast<uint64_t>(layout.stride()) * sizeof(float)));
  slab_bits_ = static_cast<uint32_t>(std::bit_width(rows)) - 1;
  slab_mask_ = (1u << slab_bits_) - 1;
}

float* TablePartition::insert(uint64_t key) {
  if (size_ == KeyIndex::kNone) fail(Code::kExhausted, "table partition is full: ", size_, " rows");
  if ((size_ & slab_mask_) == 0 && slabs_.size() == size_ >> slab_bits_) {
    slabs_.push_back(static_cast<float*>(arena_->allocate(slab_bytes())));
  }
  index_.insert(key, size_);
  return row(size_++);
}

uint64_t TablePartition::memory_bytes() const {
  return index_.memory_bytes() + slabs_.size() * (slab_bytes() + sizeof slabs_[0]);
}

}  // namespace ps
