#include "math/key_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"

namespace ps {

// Rounds: deal out the ids; then, for each partition, give numbers to its keys and transpose its uses.
void KeyPlanner::plan(std::span<const KeyList> lists, bool with_transpose, KeyPlan& plan) {
  const size_t partitions = size_t{1} << partition_bits_;
  deal(lists);
  begin_uses(lists, with_transpose, plan);
  plan.partition_starts.assign(partitions + 1, 0);
  uint32_t num_keys = 0, begin = 0;
  for (size_t p = 0; p < partitions; ++p) {
    begin_partition(partition_ends_[p] - begin, num_keys);
    for (size_t u = 0; u < lists.size(); ++u) {
      const uint32_t end = list_ends_[u * partitions + p];
      const std::span<const Id> ids(ids_.data() + begin, end - begin);
      num_keys = find_keys(ids, num_keys, plan.uses[u]);
      if (with_transpose) transpose(ids, num_keys, plan.uses[u], transposed_[u]);
      begin = end;
    }
    plan.partition_starts[p + 1] = num_keys;
  }
  stamp_ += num_keys;
  plan.keys.assign(keys_.begin(), keys_.begin() + num_keys);
  if (with_transpose) end_uses(plan);
}

// Sorts the ids by partition, stably, by counting.
void KeyPlanner::deal(std::span<const KeyList> lists) {
  const size_t partitions = size_t{1} << partition_bits_;
  size_t num_ids = 0;
  for (const KeyList& list : lists) num_ids += list.keys.size();
  PS_CHECK(num_ids < UINT32_MAX);
  if (ids_.size() < num_ids) ids_.resize(num_ids), partitions_.resize(num_ids);
  partition_ends_.assign(partitions + 1, 0);
  size_t i = 0;
  for (const KeyList& list : lists) {
    for (uint64_t key : list.keys) {
      const uint32_t p = key_partition(key, partition_bits_);
      partitions_[i++] = static_cast<uint16_t>(p);
      ++partition_ends_[p + 1];
    }
  }
  for (size_t p = 0; p < partitions; ++p) partition_ends_[p + 1] += partition_ends_[p];

  // From here on partition_ends_[p] is where the next id of p goes.
  list_ends_.clear();
  i = 0;
  for (const KeyList& list : lists) {
    PS_CHECK(list.keys.empty() || (list.offsets.front() == 0 && list.offsets.back() == list.keys.size()));
    for (uint32_t b = 0; b + 1 < list.offsets.size(); ++b) {
      for (uint32_t k = list.offsets[b]; k < list.offsets[b + 1]; ++k) {
        ids_[partition_ends_[partitions_[i++]]++] = {list.keys[k], k, b};
      }
    }
    list_ends_.insert(list_ends_.end(), partition_ends_.begin(), partition_ends_.end() - 1);
  }
}

void KeyPlanner::begin_uses(std::span<const KeyList> lists, bool with_transpose, KeyPlan& plan) {
  plan.uses.resize(lists.size());
  transposed_.assign(lists.size(), {});
  size_t num_ids = 0;
  for (size_t u = 0; u < lists.size(); ++u) {
    KeyUse& use = plan.uses[u];
    const size_t size = lists[u].keys.size(), transposed = with_transpose ? size : 0;
    num_ids += size;
    use.offsets = lists[u].offsets;
    use.index.resize(size);
    use.touched.resize(transposed);
    use.starts.resize(with_transpose ? size + 1 : 0);
    use.positions.resize(transposed);
    use.examples.resize(transposed);
  }
  if (keys_.size() <= num_ids) keys_.resize(num_ids + 1);
  if (stamp_ > UINT32_MAX - num_ids) {
    std::fill(slots_.begin(), slots_.end(), 0);
    stamp_ = 1;
  }
}

void KeyPlanner::end_uses(KeyPlan& plan) const {
  for (size_t u = 0; u < plan.uses.size(); ++u) {
    KeyUse& use = plan.uses[u];
    use.touched.resize(transposed_[u].touched);
    use.starts.resize(transposed_[u].touched + 1);
    use.starts.back() = transposed_[u].positions;
  }
}

// A table at most a quarter full, should every id be a key of its own.
void KeyPlanner::begin_partition(uint32_t num_ids, uint32_t num_keys) {
  const int bits = std::max(4, static_cast<int>(std::bit_width(num_ids)) + 2);
  const size_t size = size_t{1} << bits;
  if (slots_.size() < size) slots_.resize(size, 0);
  if (found_.size() < num_ids) found_.resize(num_ids), counts_.resize(num_ids);
  mask_ = size - 1;
  shift_ = 64 - bits;
  first_key_ = num_keys;
}

// Numbers the keys of `ids`, all of the running partition: new ones from num_keys on.  Returns the number of
// keys then known.
//
// Whether an id is new is a coin that the processor cannot guess, so there is no branch for it: a slot that
// is empty gives, less the partition's first stamp, a number that wraps around, and the lesser of it and the
// number of keys is the key's own or the next new one.  The only branch is for keys that meet in a slot.
uint32_t KeyPlanner::find_keys(std::span<const Id> ids, uint32_t num_keys, KeyUse& use) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // Knuth, The Art of Computer Programming, 6.4
  std::fill_n(counts_.begin(), num_keys - first_key_ + ids.size(), 0u);
  const uint32_t first = first_key_, first_stamp = stamp_ + first;  // copies, which no store below can change
  const size_t mask = mask_;
  const int shift = shift_;
  uint64_t* const keys = keys_.data() + first;
  uint32_t known = num_keys - first;
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint64_t key = ids[i].key;
    keys[known] = key;
    size_t place = key * kGolden >> shift;
    uint32_t n = std::min(slots_[place] - first_stamp, known);
    while (keys[n] != key) {
      place = (place + 1) & mask;
      n = std::min(slots_[place] - first_stamp, known);
    }
    slots_[place] = first_stamp + n;
    known += n == known;
    ++counts_[n];
    found_[i] = n;
    use.index[ids[i].position] = first + n;
  }
  return first + known;
}

// Sorts the ids that find_keys saw last by key, stably, by counting.
void KeyPlanner::transpose(std::span<const Id> ids, uint32_t num_keys, KeyUse& use, Transposed& done) {
  for (uint32_t n = first_key_; n < num_keys; ++n) {
    uint32_t& count = counts_[n - first_key_];
    if (count == 0) continue;
    use.touched[done.touched] = n;
    use.starts[done.touched++] = done.positions;
    done.positions += std::exchange(count, done.positions);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t place = counts_[found_[i]]++;
    use.positions[place] = ids[i].position;
    use.examples[place] = ids[i].example;
  }
}

}  // namespace ps
