#include "table/row_slabs.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace ps {

RowSlabs::RowSlabs(const RowLayout& layout, uint64_t slab_bytes, HugeArena& arena)
    : arena_(&arena), stride_(static_cast<uint64_t>(layout.stride())) {
  const uint64_t rows = std::max<uint64_t>(1, slab_bytes / (stride_ * sizeof(float)));
  bits_ = static_cast<uint32_t>(std::bit_width(rows)) - 1;
  mask_ = (1u << bits_) - 1;
}

uint32_t RowSlabs::add() {
  constexpr uint32_t kMaxRows = UINT32_MAX - 1;
  if (!removed_.empty()) {
    const uint32_t number = removed_.back();
    removed_.pop_back();
    return number;
  }
  if (end_ == kMaxRows) fail(Code::kExhausted, "table is full: ", end_, " rows");
  if (slabs_.size() == end_ >> bits_) {
    slabs_.push_back(static_cast<float*>(arena_->allocate(slab_bytes())));
  }
  return end_++;
}

void RowSlabs::remove(uint32_t number) {
  removed_.push_back(number);
  if (is_marked(number)) marks_[number / 64] &= ~(uint64_t{1} << number % 64);
}

void RowSlabs::mark(uint32_t number) {
  if (number / 64 >= marks_.size()) marks_.resize(size_t{end_} / 64 + 1);
  marks_[number / 64] |= uint64_t{1} << number % 64;
}

}  // namespace ps
