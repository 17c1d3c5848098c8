// RowRemoval: removes rows of a sparse table with a policy: those that have expired when the table shrinks, and
// the least valuable ones of partitions that are full.  Used by RowPolicyState, which decides when.
#ifndef PS_TABLE_ROW_REMOVAL_H_
#define PS_TABLE_ROW_REMOVAL_H_

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "math/device.h"
#include "optim/row_policy.h"
#include "table/table_partition.h"
#include "table/trained_rows.h"

namespace ps {

// Removals are planned first; go_on makes them, in one call or in several.  Between two calls rows may be read,
// but nothing else may be done with the table; the same rows are then removed as in one call, since each partition judges
// its own rows alone.  Owner thread only; the rows and the report must outlive it.
class RowRemoval {
 public:
  // Counts the removed rows in `report`.
  RowRemoval(const RowPolicy& policy, TrainedRows& rows, RowReport& report)
      : policy_(policy), rows_(rows), report_(report) {}

  // The limit of rows is divided among the partitions, so that decisions do not depend on which shard has
  // which partition.
  bool limited() const { return policy_.limit > 0; }
  uint64_t partition_limit() const { return static_cast<uint64_t>(policy_.limit) / kPartitions; }
  std::array<uint64_t, kPartitions> partition_sizes() const;

  // Plans to remove the least valuable rows of every partition that has more rows than its limit now, if the
  // policy evicts rows.
  void plan_eviction();

  // Plans to let counts decay, and to remove the rows that have expired. `ages`: rows get older, too.
  void plan_shrink(bool ages) { tasks_.push_back({.shrinks = true, .ages = ages, .surplus = {}}); }

  // Does what is planned, but only about as much as looking at `left` rows is, which it counts down.  Returns
  // true if there is more to do. finish does all at once.
  bool go_on(uint64_t& left, Device& device);
  void finish(Device& device) {
    uint64_t all = kAll;
    go_on(all, device);
  }

 private:
  static constexpr uint64_t kAll = UINT64_MAX;

  // An eviction or a shrink of all partitions.
  struct Task {
    bool shrinks, ages;
    std::array<uint64_t, kPartitions> surplus;  // rows to evict, by partition
  };

  struct Value {
    double score;
    uint32_t unseen;
    uint64_t key;
    bool operator<(const Value& other) const;
  };

  // One partition while its rows are judged, and then removed.
  struct Judged {
    uint64_t cursor = 0;            // of the scan
    std::vector<uint64_t> scanned;  // keys of some of its rows
    size_t next = 0;                // index of the first of them that was not looked at
    bool all_seen = false;
    std::vector<Value> values;    // of the rows, if some are evicted
    std::vector<uint64_t> going;  // keys of rows to remove
    size_t gone = 0;              // so many of them were removed
  };

  void do_at_once(const Task& task, Device& device);
  bool go_on_with(const Task& task, uint64_t& left);
  size_t look(const Task& task, uint32_t partition, size_t at_once, Judged& judged);
  void judge(const Task& task, std::span<const uint64_t> keys, Judged& judged);
  static void choose_victims(uint64_t count, Judged& judged);
  size_t remove(const Task& task, size_t most, Judged& judged);

  const RowPolicy& policy_;
  TrainedRows& rows_;
  RowReport& report_;
  std::deque<Task> tasks_;
  uint32_t partition_ = 0;  // of the first task: the partition on which it works
  Judged judged_;           // that partition
};

}  // namespace ps

#endif  // PS_TABLE_ROW_REMOVAL_H_
