#include "codec/keyed_rows.h"

#include <algorithm>

namespace ps {

namespace {

constexpr size_t kBlockFloats = 16 << 10;  // 64 KiB

}  // namespace

KeyedRows::KeyedRows(int64_t width)
    : width_(static_cast<size_t>(width)), block_rows_(std::max<size_t>(1, kBlockFloats / width_)) {}

float* KeyedRows::find(uint64_t key) const {
  const uint32_t number = index_.find(key);
  return number == KeyIndex::kNone ? nullptr : row(number);
}

// Rows lie in blocks that never move, so pointers to them stay valid while others are added.
float* KeyedRows::add(uint64_t key) {
  const size_t number = keys_.size();
  if (number == blocks_.size() * block_rows_) {
    blocks_.push_back(static_cast<float*>(arena_.allocate(block_rows_ * width_ * sizeof(float))));
  }
  index_.insert(key, static_cast<uint32_t>(number));
  keys_.push_back(key);
  return row(number);
}

}  // namespace ps
