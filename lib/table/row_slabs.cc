#include "table/row_slabs.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace ps {

RowSlabs::RowSlabs(const RowLayout& layout, uint64_t slab_bytes, HugeArena& arena, RowSpill* spill)
    : arena_(&arena), spill_(spill), stride_(static_cast<uint64_t>(layout.stride())) {
  const uint64_t rows = std::max<uint64_t>(1, slab_bytes / (stride_ * sizeof(float)));
  bits_ = static_cast<uint32_t>(std::bit_width(rows)) - 1;
  mask_ = (1u << bits_) - 1;
  if (spill_ != nullptr) owner_ = spill_->enter({&slabs_, &resident_bytes_, this->slab_bytes()});
}

// The number of the row, that of a removed row if there is one, is taken only after its memory is there: if
// the slab or its block on disk cannot be had, the next call begins with the same number.
uint32_t RowSlabs::add() {
  constexpr uint32_t kMaxRows = UINT32_MAX - 1;
  if (removed_.empty() && end_ == kMaxRows) fail(Code::kExhausted, "table is full: ", end_, " rows");
  const uint32_t number = removed_.empty() ? end_ : removed_.back();
  if (slabs_.size() == number >> bits_) add_slab();
  if (spill_ != nullptr) {
    pin(number);
    spill_->load();
  }
  removed_.empty() ? void(++end_) : removed_.pop_back();
  return number;
}

// Pins the blocks of removed rows that the next `rows` calls of add will use; the rows behind them are in
// new blocks or in the last one, which add pins itself.
void RowSlabs::pin_next(uint64_t rows) {
  const size_t known = std::min<uint64_t>(rows, removed_.size());
  for (uint32_t number : std::span(removed_).last(known)) pin(number);
}

// A slab in memory comes from the arena and stays.  With a spill it is a block, which is pinned until the
// request ends.
void RowSlabs::add_slab() {
  if (spill_ == nullptr) {
    slabs_.push_back(static_cast<float*>(arena_->allocate(slab_bytes())));
    resident_bytes_ += slab_bytes();
  } else {
    RowSpill::reserve_next(blocks_);
    blocks_.push_back(spill_->add(owner_));
  }
}

void RowSlabs::plan_read(uint32_t number, float* to) const {
  const uint64_t row_bytes = stride_ * sizeof(float);
  spill_->plan_read(blocks_[number >> bits_], (number & mask_) * row_bytes, row_bytes, to);
}

uint64_t RowSlabs::memory_bytes() const {
  uint64_t bytes = resident_bytes_ + slabs_.capacity() * sizeof slabs_[0] +
                   removed_.capacity() * sizeof removed_[0] + captured_.memory_bytes();
  if (spill_ != nullptr) {
    bytes += blocks_.capacity() * sizeof blocks_[0] + blocks_.size() * RowSpill::kBlockBytes +
             resident_bytes_ / slab_bytes() * RowSpill::kSeatBytes;
  }
  return bytes;
}

void RowSlabs::remove(uint32_t number) {
  removed_.push_back(number);
}

}  // namespace ps
