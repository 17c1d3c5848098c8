// StepApplier: applies one step with the sum of what trainers have pushed for it.  Used by StepClock.
#ifndef PS_PS_SERVER_STEP_APPLIER_H_
#define PS_PS_SERVER_STEP_APPLIER_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optim/clipping.h"
#include "optim/step_rule.h"
#include "ps/server/pending_push.h"
#include "ps/server/shard_tables.h"
#include "ps/server/slice_work.h"
#include "ps/server/table_updater.h"
#include "ps/status/shard_status.h"
#include "table/row_policy_state.h"

namespace ps {

// A job that clips by norm applies a step in two phases: the shard sends the trainers the squares of the
// gradients that it has, and applies the step when the trainers have sent back the sums over all shards.  One
// owner thread.
class StepApplier {
 public:
  // `any_order` is passed on to TableUpdater.
  StepApplier(std::span<const ParameterSpec> specs, const OptimizerPlan& optimizers, ShardTables& tables,
              bool any_order, ShardCounters& counters)
      : clipping_(specs, optimizers),
        tables_(tables),
        updater_(tables, any_order),
        rule_(optimizers.step_rule()),
        counters_(counters) {}

  bool clips() const { return clipping_.any(); }

  // The largest amount of work of one call.  A step with more work is applied in slices: by several calls
  // with the same arguments.  Before the last of these, nothing else may be done here or with the tables
  // except reading rows.
  void set_slice_work(uint64_t work) { slice_work_ = work; }
  SliceWork slice() const { return {slice_work_}; }
  bool busy() const { return under_way_.has_value() || ending_.has_value(); }
  uint64_t num_steps() const { return counters_.steps; }  // steps that were applied
  void abandon();                                         // forgets the step that is under way

  // Returns false if the step may be applied at once.
  bool needs_squares() const { return clipping_.any() && !whole_squares_ && !applies(); }

  // Sets the squares of the whole gradient, by parameter, for the next step only; nullopt removes them.
  void set_whole_squares(std::vector<double> squares) { whole_squares_ = std::move(squares); }
  void clear_whole_squares() { whole_squares_.reset(); }

  // Both take complete pushes, in the order of ranks.  If there is more to do, squares returns nothing and
  // apply returns false.
  std::optional<std::vector<ExactSquares>> squares(std::span<PendingPush* const> pushes);
  bool apply(std::span<PendingPush* const> pushes);

  // To be called when all trainers have ended this pass.  Works in slices, like apply.
  bool end_pass(int64_t pass);

  size_t num_parameters() const { return tables_.size(); }
  StepRule& rule() { return rule_; }
  const StepRule& rule() const { return rule_; }

 private:
  struct UnderWay {
    bool applies;  // false: the step is only measured
    StepSize step;
    std::vector<float> scales;                             // by parameter
    std::vector<std::vector<Contribution>> contributions;  // by parameter
    std::vector<ExactSquares> squares;                     // by parameter
    size_t parameter = 0;                                  // the next parameter
  };

  RowPolicyState* policy_of(size_t parameter) const;
  bool applies() const { return under_way_ && under_way_->applies; }
  void begin(std::span<PendingPush* const> pushes);
  std::vector<std::vector<Contribution>> contributions_of(std::span<PendingPush* const> pushes,
                                                          const StepInfo& total) const;

  const Clipping clipping_;
  ShardTables& tables_;
  TableUpdater updater_;
  StepRule rule_;
  ShardCounters& counters_;
  std::optional<std::vector<double>> whole_squares_;  // of the next step, by parameter
  uint64_t slice_work_ = SliceWork::kUnlimited;
  std::optional<UnderWay> under_way_;  // the step that is applied or measured, from call to call
  std::optional<size_t> ending_;       // during the end of a pass: the next parameter
};

}  // namespace ps

#endif  // PS_PS_SERVER_STEP_APPLIER_H_
