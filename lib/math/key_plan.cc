#include "math/key_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace ps {

uint32_t key_partition(uint64_t key, int bits) {
  return bits == 0 ? 0 : static_cast<uint32_t>(hash_key(key) >> (64 - bits));
}

void KeyPlanner::plan(std::span<const KeyList> lists, bool with_transpose, KeyPlan& plan) {
  plan.keys.clear();
  plan.uses.resize(lists.size());
  if (++generation_ == 0) {
    std::fill(index_.begin(), index_.end(), Slot{0, 0, 0});
    generation_ = 1;
  }
  for (size_t u = 0; u < lists.size(); ++u) {
    KeyUse& use = plan.uses[u];
    use.offsets = lists[u].offsets;
    use.index.resize(lists[u].keys.size());
    for (size_t k = 0; k < lists[u].keys.size(); ++k) use.index[k] = find_or_add(lists[u].keys[k], plan.keys);
  }
  order_by_partition(plan);
  for (KeyUse& use : plan.uses) {
    if (with_transpose) transpose(use, plan.keys.size());
  }
}

uint32_t KeyPlanner::find_or_add(uint64_t key, std::vector<uint64_t>& keys) {
  if ((keys.size() + 1) * 2 > index_.size()) grow_index(keys);
  size_t mask = index_.size() - 1;
  size_t place = hash_key(key) & mask;
  while (index_[place].generation == generation_) {
    if (index_[place].key == key) return index_[place].position;
    place = (place + 1) & mask;
  }
  PS_CHECK(keys.size() < UINT32_MAX);
  index_[place] = {key, static_cast<uint32_t>(keys.size()), generation_};
  keys.push_back(key);
  return index_[place].position;
}

void KeyPlanner::grow_index(const std::vector<uint64_t>& keys) {
  constexpr size_t kFirstSize = 1024;
  std::vector<Slot> larger(std::max(kFirstSize, index_.size() * 2), Slot{0, 0, 0});
  size_t mask = larger.size() - 1;
  for (size_t n = 0; n < keys.size(); ++n) {
    size_t place = hash_key(keys[n]) & mask;
    while (larger[place].generation == generation_) place = (place + 1) & mask;
    larger[place] = {keys[n], static_cast<uint32_t>(n), generation_};
  }
  index_ = std::move(larger);
}

// Sorts plan.keys by partition, stably, by counting; then renames the positions in the uses.
void KeyPlanner::order_by_partition(KeyPlan& plan) {
  size_t partitions = size_t{1} << partition_bits_;
  plan.partition_starts.assign(partitions + 1, 0);
  for (uint64_t key : plan.keys) ++plan.partition_starts[key_partition(key, partition_bits_) + 1];
  for (size_t p = 0; p < partitions; ++p) plan.partition_starts[p + 1] += plan.partition_starts[p];
  counts_.assign(plan.partition_starts.begin(), plan.partition_starts.end() - 1);
  order_.resize(plan.keys.size());
  sorted_.resize(plan.keys.size());
  for (size_t n = 0; n < plan.keys.size(); ++n) {
    order_[n] = counts_[key_partition(plan.keys[n], partition_bits_)]++;
    sorted_[order_[n]] = plan.keys[n];
  }
  plan.keys.swap(sorted_);
  for (KeyUse& use : plan.uses) {
    for (uint32_t& position : use.index) position = order_[position];
  }
}

// Sorts the positions of the list by the key they hold, stably, by counting.
void KeyPlanner::transpose(KeyUse& use, size_t num_keys) {
  counts_.assign(num_keys + 1, 0);
  for (uint32_t n : use.index) ++counts_[n];
  use.touched.clear();
  use.starts.clear();
  uint32_t total = 0;
  for (size_t n = 0; n < num_keys; ++n) {
    uint32_t count = counts_[n];
    if (count == 0) continue;
    use.touched.push_back(static_cast<uint32_t>(n));
    use.starts.push_back(total);
    counts_[n] = total;
    total += count;
  }
  use.starts.push_back(total);
  use.positions.resize(total);
  use.examples.resize(total);
  for (size_t b = 0; b + 1 < use.offsets.size(); ++b) {
    for (uint32_t k = use.offsets[b]; k < use.offsets[b + 1]; ++k) {
      uint32_t place = counts_[use.index[k]]++;
      use.positions[place] = k;
      use.examples[place] = static_cast<uint32_t>(b);
    }
  }
}

}  // namespace ps
