// TableUpdater: applies to a shard's tables the gradients and values that trainers gave for a step: finds the
// rows, adds up the gradients in the order of ranks, and has the optimizers update.  Used by StepApplier, which
// owns it.
#ifndef PS_PS_SERVER_TABLE_UPDATER_H_
#define PS_PS_SERVER_TABLE_UPDATER_H_

#include <span>
#include <vector>

#include "math/device.h"
#include "math/exact_squares.h"
#include "math/key_plan.h"
#include "math/order_free_sums.h"
#include "optim/step_rule.h"
#include "ps/server/shard_tables.h"
#include "store/parameter_tables.h"

namespace ps {

// The gradients or values that one trainer gave of one parameter, in one slice of its push.
struct Contribution {
  const RowSlice* slice;
  const float* floats;  // [slice->rows(), cols]
  int trainer;
  float share;                          // of the step's examples
  const RowPointers* pulled = nullptr;  // the slice's rows, when it is one of a pull; null: not known
};

// The owner thread of the shard, whose tables must outlive it.
class TableUpdater {
 public:
  // With `any_order` the contributions of several trainers to a gradient are added so that their order changes no bit of
  // the sum.
  explicit TableUpdater(ShardTables& tables, bool any_order = false)
      : tables_(tables.parameters()), device_(tables.device()), any_order_(any_order) {}

  // One step of parameter number `parameter` with the sum of the contributions, which come in the order of
  // ranks and slices; of a statistic, with their mean.  A lone contribution is used where it lies.
  void apply(size_t parameter, std::span<const Contribution> contributions, const StepSize& step);

  // The squares of the gradient that apply would use.
  ExactSquares squares(size_t parameter, std::span<const Contribution> contributions);

 private:
  bool lie_apart(const Table& table, std::span<const Contribution> contributions) const;
  void gather_rows(const Table& table, std::span<const Contribution> contributions);
  void use_rows_in_place(Table& table, std::span<const Contribution> contributions);
  void find_rows(Table& table, std::span<const Contribution> contributions);
  const float* sum_rows(const Table& table, std::span<const Contribution> contributions);
  void sum_counts(std::span<const Contribution> contributions);
  const float* matrix_gradient(const Table& table, std::span<const Contribution> contributions);
  const float* sum_ranges(const Table& table, std::span<const Contribution> contributions);
  template <class ForEachRun>
  const float* sum_free_of_order(ForEachRun&& for_each_run);
  void apply_rows(Table& table, std::span<const Contribution> contributions, const StepSize& step);
  void push_rows(Table& table, std::span<const Contribution> contributions, const StepSize& step);
  void apply_statistic(Table& table, std::span<const Contribution> contributions);

  ParameterTables& tables_;
  Device& device_;
  const bool any_order_;

  // During a call.
  KeyPlanner planner_;
  KeyPlan plan_;                           // the keys of gather_rows
  std::vector<float*> rows_;               // of plan_, or of the slices that came without row pointers
  std::vector<KeyedGradients> gradients_;  // of gather_rows and use_rows_in_place
  std::vector<float> sums_;                // of several trainers' gradients
  OrderFreeSums order_free_;               // the same, where any order is to give the same bits
};

}  // namespace ps

#endif  // PS_PS_SERVER_TABLE_UPDATER_H_
