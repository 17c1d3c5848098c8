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
#include "ps/server/table_updater.h"
#include "ps/status/shard_status.h"

namespace ps {

// A job that clips by norm applies a step in two phases: the shard sends the trainers the squares of the gradients that it
// has, and applies the step when the trainers have sent back the sums over all shards.  One owner thread.
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

  // Returns false when the step may be applied at once.
  bool needs_squares() const { return clipping_.any() && !whole_squares_; }

  // Sets the squares of the whole gradient, by parameter, for the next step only; nullopt removes them.
  void set_whole_squares(std::vector<double> squares) { whole_squares_ = std::move(squares); }
  void clear_whole_squares() { whole_squares_.reset(); }

  // Both: pushes that are complete, in the order of ranks.
  std::vector<ExactSquares> squares(std::span<PendingPush* const> pushes);
  void apply(std::span<PendingPush* const> pushes);

  void end_pass(int64_t pass) { tables_.end_pass(pass); }

  size_t num_parameters() const { return tables_.size(); }
  StepRule& rule() { return rule_; }
  const StepRule& rule() const { return rule_; }

 private:
  std::vector<std::vector<Contribution>> contributions_of(std::span<PendingPush* const> pushes,
                                                          const StepInfo& total) const;

  const Clipping clipping_;
  ShardTables& tables_;
  TableUpdater updater_;
  StepRule rule_;
  ShardCounters& counters_;
  std::optional<std::vector<double>> whole_squares_;  // of the next step, by parameter
};

}  // namespace ps

#endif  // PS_PS_SERVER_STEP_APPLIER_H_
