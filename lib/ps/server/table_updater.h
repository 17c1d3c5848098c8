// TableUpdater: applies the gradients and values that trainers gave for a step to a shard's tables.  It finds
// the rows, adds up the gradients in the order of ranks, and lets the optimizers update the rows.  Used by
// StepApplier, which owns it.
#ifndef PS_PS_SERVER_TABLE_UPDATER_H_
#define PS_PS_SERVER_TABLE_UPDATER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "math/device.h"
#include "math/exact_squares.h"
#include "math/key_plan.h"
#include "math/order_free_sums.h"
#include "optim/step_rule.h"
#include "ps/server/contributed_rows.h"
#include "ps/server/shard_tables.h"
#include "ps/server/slice_work.h"
#include "store/parameter_tables.h"
#include "table/row_policy_state.h"
#include "table/row_removal.h"

namespace ps {

// Goes on with the removal of rows, as far as the work allows.  Returns false if there is more to do.
bool remove_rows(RowRemoval& removal, SliceWork& work, Device& device);

// The work on a parameter may be divided over several calls.  Between them rows may be read, but nothing else
// may be done with the table; every row then gets the same bits as in one call.  Owned by the thread of the
// shard, whose tables must outlive it.
class TableUpdater {
 public:
  // With `any_order` the contributions of several trainers to a gradient are added in such a way that their
  // order does not change the sum.
  explicit TableUpdater(ShardTables& tables, bool any_order = false)
      : tables_(tables.parameters()), device_(tables.device()), any_order_(any_order) {}

  // Applies one step of parameter number `parameter` with the sum of the contributions, which come in the
  // order of ranks and slices; of a statistic, with their mean.  A single contribution is used where it lies.
  // Returns false if there is more work than `work` allows: the next call, with the same arguments, goes on.
  bool apply(size_t parameter, std::span<const Contribution> contributions, const StepSize& step,
             SliceWork& work);
  void apply(size_t parameter, std::span<const Contribution> contributions, const StepSize& step) {
    SliceWork all;
    apply(parameter, contributions, step, all);
  }

  // sum <- the squares of the gradient that apply would use.  Returns false as apply does.
  bool measure(size_t parameter, std::span<const Contribution> contributions, ExactSquares& sum,
               SliceWork& work);

  // Forgets the work that was begun.
  void abandon();

 private:
  // A slice of rows whose gradients are ready, and the memory that these need beside the contributions.
  struct ReadySlice {
    std::vector<KeyedGradients> gradients;
    std::vector<uint64_t> keys;    // of the sums, or of all rows that were found by one pull
    std::vector<KeyCount> counts;  // of these keys, in a table with a policy
    std::vector<float*> rows;
    std::vector<float> sums;
  };

  void begin(size_t parameter, const Table& table, std::span<const Contribution> contributions);
  bool go_on(size_t parameter, Table& table, std::span<const Contribution> contributions,
             const StepSize& step, SliceWork& work);
  ReadySlice& next_ready();
  uint64_t find_next_slice(const Table& table, SliceWork& work);

  bool apply_rows(Table& table, const StepSize& step, SliceWork& work);
  bool find_and_push(Table& table, const StepSize& step, SliceWork& work);
  void use_held(RowPolicyState& policy, int64_t cols);
  void find_rows(Table& table, ReadySlice& slice);
  void push_slice(Table& table, ReadySlice& slice, const StepSize& step, bool moved, SliceWork& work);
  void use_rows_in_place(Table& table, ReadySlice& slice);
  void use_rows_of_one_pull(Table& table, ReadySlice& slice);
  void use_counted_rows(Table& table, ReadySlice& slice);
  void use_sums(Table& table, ReadySlice& slice);
  void find_summed_rows(Table& table, std::vector<float*>& rows);
  void sum_rows(int64_t cols, std::vector<float>& sums);
  void add_in_order(size_t cols, std::vector<float>& sums);
  template <class ForEachRun>
  void sum_free_of_order(std::vector<float>& sums, ForEachRun&& for_each_run);
  void sum_counts();

  bool apply_dense_rows(Table& table, const StepSize& step, SliceWork& work);
  uint64_t spread_rows(const Table& table, size_t first, size_t count);
  bool apply_matrix(Table& table, std::span<const Contribution> contributions, const StepSize& step,
                    SliceWork& work);
  template <class Body>
  bool for_ranges(const Table& table, std::span<const Contribution> contributions, SliceWork& work,
                  Body&& body);
  const float* sum_range(std::span<const Contribution> contributions, size_t cols, size_t count);
  void apply_statistic(Table& table, std::span<const Contribution> contributions);

  ParameterTables& tables_;
  Device& device_;
  const bool any_order_;

  // State from call to call, while a parameter is worked on.
  bool begun_ = false;
  bool lie_apart_ = false;        // no key is in two contributions: no sums are needed
  bool in_step_ = false;          // the table's step has begun
  bool removes_ = false;          // all rows are trained, and a policy may remove some
  ContributedRows rows_left_;     // rows by keys that are not in slices yet
  RowSlice held_;                 // keys that a policy has held for the step, with their counts
  std::deque<ReadySlice> ready_;  // also those of former steps, whose memory is used again
  size_t num_ready_ = 0;          // slices of this step
  size_t num_pushed_ = 0;         // slices of this step that the table has
  size_t num_values_ = 0;         // values of a table that has all rows that are done

  // Memory for the time of a call.
  std::vector<RowsOfOne> some_;
  KeyPlanner planner_;
  KeyPlan plan_;
  std::vector<float> sums_;    // sums of several trainers' gradients
  std::vector<float> spread_;  // gradients of all rows of a range
  OrderFreeSums order_free_;   // sums whose bits must not depend on the order
};

}  // namespace ps

#endif  // PS_PS_SERVER_TABLE_UPDATER_H_
