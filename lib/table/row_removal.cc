#include "table/row_removal.h"

#include <algorithm>

namespace ps {

// Among equal scores, the longest unseen rows come first, and among those the smallest keys.
bool RowRemoval::Value::operator<(const Value& other) const {
  if (score != other.score) return score < other.score;
  if (unseen != other.unseen) return unseen > other.unseen;
  return key < other.key;
}

std::array<uint64_t, kPartitions> RowRemoval::partition_sizes() const {
  std::array<uint64_t, kPartitions> sizes;
  for (uint32_t p = 0; p < kPartitions; ++p) sizes[p] = rows_.storage().partition_size(p);
  return sizes;
}

// Evicts a sixteenth of the rows of a full partition at once, since choosing victims takes a scan of all its
// rows.
void RowRemoval::plan_eviction() {
  constexpr uint64_t kShare = 16;
  if (!limited() || !policy_.evicts()) return;
  Task task{.shrinks = false, .ages = false, .surplus = {}};
  const std::array<uint64_t, kPartitions> sizes = partition_sizes();
  const uint64_t limit = partition_limit();
  bool any = false;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    if (sizes[p] <= limit) continue;
    task.surplus[p] = sizes[p] - (limit - limit / kShare);
    any = true;
  }
  if (any) tasks_.push_back(task);
}

// Tasks are done in the order in which they were planned.  One that nobody has begun, without a limit of
// work, is shared over the device; any other goes on at partition_ and judged_, where the last call
// stopped.
bool RowRemoval::go_on(uint64_t& left, Device& device) {
  while (!tasks_.empty()) {
    const bool begun = partition_ > 0 || judged_.cursor > 0;
    if (left == kAll && !begun) {
      do_at_once(tasks_.front(), device);
    } else if (!go_on_with(tasks_.front(), left)) {
      return true;
    }
    tasks_.pop_front();
    partition_ = 0;
    judged_ = {};
  }
  return false;
}

// Partitions are judged by the threads of the device.
void RowRemoval::do_at_once(const Task& task, Device& device) {
  std::array<Judged, kPartitions> all;
  rows_.for_each_partition(device, [&](uint32_t p) {
    if (!task.shrinks && task.surplus[p] == 0) return;
    while (!all[p].all_seen) look(task, p, SIZE_MAX, all[p]);
    if (!task.shrinks) choose_victims(task.surplus[p], all[p]);
  });
  for (Judged& judged : all) remove(task, SIZE_MAX, judged);
}

// Returns false if nothing is left before the end.  A row that may be on disk counts for several.
bool RowRemoval::go_on_with(const Task& task, uint64_t& left) {
  constexpr size_t kAtOnce = 256;
  constexpr uint64_t kOnDisk = 16;
  const uint64_t cost = rows_.spilled() ? kOnDisk : 1;
  auto use = [&left, cost](size_t rows) { left -= std::min(left, cost * (rows + 1)); };
  for (; partition_ < kPartitions; ++partition_, judged_ = {}) {
    if (!task.shrinks && task.surplus[partition_] == 0) continue;
    // First all rows of the partition are judged, then those that go are removed: the victims of an
    // eviction are known only when all values have been compared.
    while (!judged_.all_seen) {
      if (left == 0) return false;
      use(look(task, partition_, kAtOnce, judged_));
      if (judged_.all_seen && !task.shrinks) choose_victims(task.surplus[partition_], judged_);
    }
    while (judged_.gone < judged_.going.size()) {
      if (left == 0) return false;
      use(remove(task, kAtOnce, judged_));
    }
  }
  return true;
}

// Looks at some of the partition's rows, at most `at_once` of them, and returns their number.
// A scan gives the keys of a whole segment.  They stay in judged.scanned, from which each call takes some,
// so that a call does little even if segments are large.
size_t RowRemoval::look(const Task& task, uint32_t partition, size_t at_once, Judged& judged) {
  if (judged.next == judged.scanned.size()) {
    judged.scanned.clear();
    judged.next = 0;
    judged.all_seen = !rows_.storage().scan(partition, judged.cursor, judged.scanned);
  }
  const size_t count = std::min(at_once, judged.scanned.size() - judged.next);
  judge(task, std::span(judged.scanned).subspan(judged.next, count), judged);
  judged.next += count;
  return count;
}

// At a shrink, age is judged before the row ages, and only if rows age: a row that has occurred since the last
// such shrink has an age of zero.
void RowRemoval::judge(const Task& task, std::span<const uint64_t> keys, Judged& judged) {
  if (!task.shrinks) {
    return rows_.visit(keys, /*writes=*/false, [&](uint64_t key, const float* row) {
      const RowHistory history = rows_.layout().history(row);
      judged.values.push_back({policy_.score_of(history), history.unseen, key});
    });
  }
  rows_.visit(keys, /*writes=*/true, [&](uint64_t key, float* row) {
    const RowHistory before = rows_.layout().history(row);
    RowHistory after = policy_.aged(before);
    if (policy_.expires({after.shows, after.clicks, task.ages ? before.unseen : 0}))
      judged.going.push_back(key);
    if (!task.ages) after.unseen = before.unseen;
    rows_.layout().set_history(row, after);
  });
}

// Chooses the `count` rows with the lowest values.
// nth_element puts the lowest `count` values in front without sorting them; the order of keys decides
// between equal ones, so the choice is the same on every machine.
void RowRemoval::choose_victims(uint64_t count, Judged& judged) {
  std::vector<Value>& values = judged.values;
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(count), values.end());
  for (size_t i = 0; i < count; ++i) judged.going.push_back(values[i].key);
}

// Removes some of the rows that go, and returns their number.
size_t RowRemoval::remove(const Task& task, size_t most, Judged& judged) {
  const size_t count = std::min(most, judged.going.size() - judged.gone);
  const size_t erased = rows_.erase(std::span<const uint64_t>(judged.going).subspan(judged.gone, count));
  (task.shrinks ? report_.expired : report_.evicted) += erased;
  judged.gone += count;
  return count;
}

}  // namespace ps
