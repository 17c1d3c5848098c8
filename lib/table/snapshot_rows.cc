#include "table/snapshot_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/radix_sort.h"

namespace ps {

// Chooses slabs so small that malloc serves them from freed memory; larger ones it would map anew, and the
// system would clear their pages.
static uint32_t slab_bits(size_t row_floats) {
  constexpr size_t kSlabBytes = 64 << 10;
  const size_t rows = std::max<size_t>(1, kSlabBytes / sizeof(float) / row_floats);
  return static_cast<uint32_t>(std::bit_width(rows)) - 1;
}

SnapshotSlabs::SnapshotSlabs(const RowLayout& layout)
    : row_floats_(static_cast<size_t>(layout.floats())), bits_(slab_bits(row_floats_)) {}

// The owner thread takes slabs while other threads give back those that they have written out.  New memory
// is allocated without the lock.
SnapshotSlabs::Slab SnapshotSlabs::take() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Slab slab = std::move(free_.back());
      free_.pop_back();
      return slab;
    }
  }
  return std::make_unique_for_overwrite<float[]>(row_floats_ << bits_);
}

void SnapshotSlabs::give_back(std::vector<Slab> slabs) {
  std::lock_guard lock(mutex_);
  free_.insert(free_.end(), std::make_move_iterator(slabs.begin()), std::make_move_iterator(slabs.end()));
}

SnapshotRows::SnapshotRows(const RowLayout& layout, std::shared_ptr<SnapshotSlabs> memory)
    : layout_(layout), memory_(std::move(memory)) {}

SnapshotRows::~SnapshotRows() {
  if (!slabs_.empty()) memory_->give_back(std::move(slabs_));
}

void SnapshotRows::add(uint64_t key, const float* row) {
  const size_t index = keys_.size();
  if (index >> memory_->bits() == slabs_.size()) slabs_.push_back(memory_->take());
  std::memcpy(this->row(index), row, memory_->row_floats() * sizeof(float));
  keys_.push_back(key);
}

// Sorts pairs of key and position instead of the rows, which are long.  The rows of a block then lie at
// random places, so each is prefetched while the list of the block is made.
void SnapshotRows::sorted(size_t at_once, const std::function<void(const RowBlock&)>& take) const {
  struct KeyPosition {
    uint64_t key;
    size_t index;
  };
  std::vector<KeyPosition> order(keys_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = {keys_[i], i};
  radix_sort(order, [](const KeyPosition& position) { return position.key; });
  std::vector<uint64_t> keys;
  std::vector<const float*> rows;
  RowBlock block;
  for (size_t begin = 0; begin < order.size(); begin += keys.size()) {
    keys.clear();
    rows.clear();
    for (size_t i = begin; i < std::min(begin + at_once, order.size()); ++i) {
      keys.push_back(order[i].key);
      rows.push_back(row(order[i].index));
      __builtin_prefetch(rows.back());
    }
    block.clear();
    append_rows(layout_, keys, rows.data(), block);
    take(block);
  }
}

}  // namespace ps
