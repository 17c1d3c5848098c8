#include "table/cuda/key_split.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/hash.h"
#include "table/cuda/batch_launches.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

using device_table::run_threads;

// The low half of the hash, since the high half chooses the bucket.
constexpr uint32_t owner_of_hash(uint64_t hash, uint32_t owners) {
  return static_cast<uint32_t>((hash & 0xffffffff) * owners >> 32);
}

// One thread a key: its group, and its position.  Its table is the last that begins at or before it.
__global__ void name_groups(const uint64_t* keys, uint32_t size, const uint32_t* begins, uint32_t tables,
                            uint32_t owners, uint32_t* groups, uint32_t* order) {
  const uint32_t i = device_table::thread_index();
  if (i >= size) return;
  uint32_t table = 0, end = tables;
  while (end - table > 1) {
    const uint32_t middle = (table + end) / 2;
    (begins[middle] <= i ? table : end) = middle;
  }
  groups[i] = owner_of_hash(hash_key(keys[i]), owners) * tables + table;
  order[i] = i;
}

// One thread a key in the order of groups: gives it its place in that order.  ends [groups] <- the number of keys of this
// group and those before it; groups without keys keep what is there.
__global__ void order_keys(const uint64_t* keys, const uint32_t* positions, const uint32_t* groups,
                           uint32_t size, uint64_t* ordered, uint32_t* ends) {
  const uint32_t j = device_table::thread_index();
  if (j >= size) return;
  ordered[j] = keys[positions[j]];
  if (j + 1 == size || groups[j + 1] != groups[j]) ends[groups[j]] = j + 1;
}

}  // namespace

uint32_t KeySplit::owner_of(uint64_t key, uint32_t owners) {
  return owner_of_hash(hash_key(key), owners);
}

uint64_t KeySplit::bytes_for(uint64_t most_keys, uint64_t owners, uint64_t tables) {
  constexpr uint64_t kOfKey = sizeof(uint64_t) + 4 * sizeof(uint32_t);
  return most_keys * kOfKey + (owners + 1) * tables * sizeof(uint32_t);
}

KeySplit::KeySplit(gpu::Device& device, int64_t most_keys, size_t owners, size_t tables)
    : owners_(owners),
      memory_(device),
      workspace_(device),
      keys_(device, most_keys),
      groups_(device, 2 * most_keys),
      positions_(device, 2 * most_keys),
      tables_there_(device, static_cast<int64_t>(tables)),
      ends_(device, static_cast<int64_t>(owners * tables)),
      tables_here_(memory_, static_cast<int64_t>(tables)),
      ends_here_(memory_, static_cast<int64_t>(owners * tables)) {
  PS_CHECK(owners > 0 && tables > 0 && owners * tables < UINT32_MAX);
}

// The sort is stable, so that keys of one group keep the order in which they were given.
void KeySplit::queue(gpu::Stream& stream, const uint64_t* keys, std::span<const uint32_t> begins) {
  tables_ = begins.size() - 1;
  num_keys_ = begins.back();
  PS_CHECK(static_cast<int64_t>(tables_) <= tables_here_.size());
  if (num_keys_ > most_keys()) {
    fail(Code::kInternal, "a call of ", num_keys_, " keys for several devices, expected at most ",
         most_keys());
  }
  const size_t groups = owners_ * tables_;
  const uint32_t size = static_cast<uint32_t>(num_keys_), tables = static_cast<uint32_t>(tables_);
  stream.fill(ends_.data(), 0, groups * sizeof(uint32_t));
  if (size > 0) {
    std::ranges::copy(begins.first(tables_), tables_here_.data());
    stream.copy_to_device(tables_there_.data(), tables_here_.data(), tables_ * sizeof(uint32_t));
    run_threads(name_groups, size, stream, keys, size, tables_there_.data(), tables,
                static_cast<uint32_t>(owners_), groups_.data(), positions_.data());
    uint32_t *const sorted_groups = groups_.data() + most_keys(), *const sorted_positions =
                                                                      positions_.data() + most_keys();
    gpu::sort_pairs<uint32_t>(stream, workspace_,
                              {groups_.data(), positions_.data(), sorted_groups, sorted_positions, num_keys_},
                              std::max(1, static_cast<int>(std::bit_width(groups - 1))));
    run_threads(order_keys, size, stream, keys, sorted_positions, sorted_groups, size, keys_.data(),
                ends_.data());
  }
  stream.copy_to_host(ends_here_.data(), ends_.data(), groups * sizeof(uint32_t));
}

void KeySplit::finish() {
  begins_.assign(owners_ * tables_ + 1, 0);
  for (size_t g = 0; g < owners_ * tables_; ++g)
    begins_[g + 1] = std::max<int64_t>(begins_[g], ends_here_.data()[g]);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
