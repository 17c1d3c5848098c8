// RowPolicyState: what a sparse table whose rows come and go keeps beside them.  Used by SparseTable's own
// sources alone.
#ifndef PS_TABLE_ROW_POLICY_STATE_H_
#define PS_TABLE_ROW_POLICY_STATE_H_

#include <array>
#include <optional>
#include <vector>

#include "optim/row_policy.h"
#include "table/key_admission.h"
#include "table/sparse_table.h"
#include "table/table_partition.h"

namespace ps {

// A key of the running step without a row.
struct SparseTable::Candidate {
  uint64_t key;
  uint32_t place;  // in the plan
  KeyCount count;  // its history, should it get one
};

struct SparseTable::RowPolicyState {
  RowPolicyState(const RowPolicy& its_policy, uint64_t seed) : policy(its_policy) {
    if (policy.admission) admission.emplace(*policy.admission, seed);
  }

  // Whether a partition may have more rows than this is the limit's; each partition has a share of its own,
  // so that it does not matter who has which.
  bool limited() const { return policy.limit > 0; }
  uint64_t partition_limit() const { return static_cast<uint64_t>(policy.limit) / kPartitions; }

  // Whether a pointer that pull gave is of a row that is not there.
  bool is_stand_in(const float* row) const {
    return row >= stand_ins.data() && row < stand_ins.data() + stand_ins.size();
  }

  const RowPolicy policy;
  std::optional<KeyAdmission> admission;
  std::array<uint64_t, kPartitions> sizes{};  // rows of each partition
  RowReport report;                           // but for what there is at present
  uint64_t shrinks = 0;                       // so far

  // Of the running step.
  std::vector<float> stand_ins;  // what keys without a row read as
  std::vector<float*> trained;   // of the plan's keys; null: has no row
  std::vector<Candidate> absent;
};

}  // namespace ps

#endif  // PS_TABLE_ROW_POLICY_STATE_H_
