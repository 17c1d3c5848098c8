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

float* RowSlabs::add() {
  constexpr uint32_t kMaxRows = UINT32_MAX - 1;
  if (size_ == kMaxRows) fail(Code::kExhausted, "table is full: ", size_, " rows");
  if (slabs_.size() == size_ >> bits_) {
    slabs_.push_back(static_cast<float*>(arena_->allocate(slab_bytes())));
  }
  return row(size_++);
}

}  // namespace ps
