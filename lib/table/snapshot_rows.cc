#include "table/snapshot_rows.h"

#include <algorithm>
#include <cstring>

#include "base/radix_sort.h"

namespace ps {

SnapshotRows::SnapshotRows(const RowLayout& layout)
    : layout_(layout),
      floats_(static_cast<size_t>(layout.floats())),
      slab_rows_(std::max<size_t>(1, kSlabBytes / sizeof(float) / floats_)) {}

void SnapshotRows::add(uint64_t key, const float* row) {
  const size_t place = keys_.size() % slab_rows_;
  if (place == 0) slabs_.push_back(std::make_unique_for_overwrite<float[]>(slab_rows_ * floats_));
  std::memcpy(slabs_.back().get() + place * floats_, row, floats_ * sizeof(float));
  keys_.push_back(key);
}

void SnapshotRows::sorted(size_t at_once, const std::function<void(const RowBlock&)>& take) const {
  struct Place {
    uint64_t key;
    size_t index;
  };
  std::vector<Place> order(keys_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = {keys_[i], i};
  radix_sort(order, [](const Place& place) { return place.key; });
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
