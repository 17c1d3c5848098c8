#include "table/table_partition.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"

namespace ps {

namespace {

constexpr uint64_t kSlabBytes = 64 << 10;  // small, since there are many partitions a table
constexpr size_t kFirstIndexSize = 16;

uint32_t low_half(uint64_t hash) {
  return static_cast<uint32_t>(hash);
}

}  // namespace

TablePartition::TablePartition(RowLayout layout) : layout_(layout) {
  uint64_t rows =
      std::max<uint64_t>(1, kSlabBytes / (static_cast<uint64_t>(layout.stride()) * sizeof(float)));
  slab_bits_ = static_cast<uint32_t>(std::bit_width(rows)) - 1;
  slab_mask_ = (1u << slab_bits_) - 1;
}

uint32_t TablePartition::find(uint64_t key) const {
  if (index_.empty()) return kNone;
  uint32_t half = low_half(hash_key(key));
  size_t mask = index_.size() - 1;
  for (size_t place = half & mask; index_[place] != kEmpty; place = (place + 1) & mask) {
    if (index_[place] >> 32 != half) continue;
    uint32_t number = static_cast<uint32_t>(index_[place]) - 1;
    if (this->key(number) == key) return number;
  }
  return kNone;
}

uint32_t TablePartition::insert(uint64_t key) {
  if (size_ == UINT32_MAX - 1) fail(Code::kExhausted, "table partition is full: ", size_, " rows");
  if ((size_ + 1) * uint64_t{8} > index_.size() * 7) grow_index();
  if ((size_ & slab_mask_) == 0) {
    slabs_.push_back(std::make_unique_for_overwrite<float[]>((uint64_t{1} << slab_bits_) *
                                                             static_cast<uint64_t>(layout_.stride())));
  }
  uint32_t number = size_++;
  uint32_t half = low_half(hash_key(key));
  size_t mask = index_.size() - 1, place = half & mask;
  while (index_[place] != kEmpty) place = (place + 1) & mask;
  index_[place] = uint64_t{half} << 32 | (number + 1);
  std::memcpy(row(number) + layout_.values() + 1, &key, sizeof key);
  return number;
}

void TablePartition::grow_index() {
  std::vector<uint64_t> larger(std::max(kFirstIndexSize, index_.size() * 2), kEmpty);
  size_t mask = larger.size() - 1;
  for (uint64_t entry : index_) {
    if (entry == kEmpty) continue;
    size_t place = (entry >> 32) & mask;
    while (larger[place] != kEmpty) place = (place + 1) & mask;
    larger[place] = entry;
  }
  index_ = std::move(larger);
}

uint64_t TablePartition::key(uint32_t number) const {
  uint64_t key;
  std::memcpy(&key, row(number) + layout_.values() + 1, sizeof key);
  return key;
}

uint32_t TablePartition::stamp(uint32_t number) const {
  uint32_t stamp;
  std::memcpy(&stamp, row(number) + layout_.values(), sizeof stamp);
  return stamp;
}

void TablePartition::set_stamp(uint32_t number, uint32_t stamp) {
  std::memcpy(row(number) + layout_.values(), &stamp, sizeof stamp);
}

uint64_t TablePartition::memory_bytes() const {
  uint64_t slab = (uint64_t{1} << slab_bits_) * static_cast<uint64_t>(layout_.stride()) * sizeof(float);
  return index_.capacity() * sizeof index_[0] + slabs_.size() * slab;
}

}  // namespace ps
