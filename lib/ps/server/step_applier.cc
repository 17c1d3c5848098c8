#include "ps/server/step_applier.h"

#include <algorithm>
#include <utility>

namespace ps {

namespace {

StepInfo sum_up(std::span<PendingPush* const> pushes) {
  StepInfo total;
  for (const PendingPush* push : pushes) {
    total.samples += push->info.samples;
    total.pass = std::max(total.pass, push->info.pass);
    total.shrink |= push->info.shrink;
  }
  return total;
}

}  // namespace

// Returns the contributions by parameter, in the order of ranks and message slices.  They point into the
// pushes, which stay until the step has ended.  `share` is the part of the step's examples that the trainer
// had, for the means of statistics; a push without examples gives none of these, so that a step without
// examples leaves them as they are.
std::vector<std::vector<Contribution>> StepApplier::contributions_of(std::span<PendingPush* const> pushes,
                                                                     const StepInfo& total) const {
  std::vector<std::vector<Contribution>> contributions(tables_.size());
  for (const PendingPush* push : pushes) {
    const float share = pushes.size() == 1 || total.samples == 0
                            ? 1
                            : static_cast<float>(push->info.samples) / static_cast<float>(total.samples);
    for (const auto& [number, request] : push->slices) {
      const auto found = push->pulled.find(number);
      const PulledRows* pulled = found != push->pulled.end() ? found->second.get() : nullptr;
      for (size_t s = 0; s < request.row_slices.size(); ++s) {
        const RowSlice& slice = request.row_slices[s];
        const ParameterKind kind = tables_.parameters().spec(slice.parameter).kind;
        if (push->info.samples == 0 && kind == ParameterKind::kStatistic) continue;
        const RowPointers* rows = pulled != nullptr ? &(*pulled)[s] : nullptr;
        contributions[slice.parameter].push_back({&slice, request.floats(slice), push->rank, share, rows});
      }
    }
  }
  return contributions;
}

// Goes on with the parameter at which the last call stopped; a parameter that is not clipped needs no
// squares.
std::optional<std::vector<ExactSquares>> StepApplier::squares(std::span<PendingPush* const> pushes) {
  if (!under_way_) {
    under_way_.emplace(
        UnderWay{.applies = false, .step = {}, .scales = {}, .contributions = {}, .squares = {}});
    under_way_->squares.resize(tables_.size());
    under_way_->contributions = contributions_of(pushes, sum_up(pushes));
  }
  SliceWork work = slice();
  for (size_t& p = under_way_->parameter; p < tables_.size(); ++p) {
    if (!clipping_.needs(p)) continue;
    if (!updater_.measure(p, under_way_->contributions[p], under_way_->squares[p], work)) return std::nullopt;
  }
  return std::exchange(under_way_, std::nullopt)->squares;
}

void StepApplier::begin(std::span<PendingPush* const> pushes) {
  const StepInfo total = sum_up(pushes);
  const StepSize step = rule_.next(total);
  const std::vector<double> no_squares(tables_.size());
  under_way_.emplace(
      UnderWay{.applies = true, .step = step, .scales = {}, .contributions = {}, .squares = {}});
  under_way_->scales = clipping_.scales(whole_squares_ ? *whole_squares_ : no_squares, step.scale);
  whole_squares_.reset();  // the next step has others
  under_way_->contributions = contributions_of(pushes, total);
}

// The size of the step is the same for all parameters, and is taken from the schedule once, when the step
// begins; only the scales, which clip, differ.  Each call goes on with the parameter at which the last one
// stopped.
bool StepApplier::apply(std::span<PendingPush* const> pushes) {
  if (!under_way_) begin(pushes);
  SliceWork work = slice();
  for (size_t& p = under_way_->parameter; p < tables_.size(); ++p) {
    const StepSize step{under_way_->step.learning_rate, under_way_->scales[p], under_way_->step.shrink};
    if (!updater_.apply(p, under_way_->contributions[p], step, work)) return false;
  }
  under_way_.reset();
  ++counters_.steps;
  return true;
}

// First every policy plans the removal of rows, and then the removals are made table by table.
bool StepApplier::end_pass(int64_t pass) {
  if (!ending_) {
    ending_ = 0;
    for (size_t p = 0; p < tables_.size(); ++p) {
      if (RowPolicyState* policy = policy_of(p)) policy->plan_end_of_pass(pass);
    }
  }
  SliceWork work = slice();
  for (size_t& p = *ending_; p < tables_.size(); ++p) {
    RowPolicyState* policy = policy_of(p);
    if (policy != nullptr && !remove_rows(policy->removal(), work, tables_.device())) return false;
  }
  ending_.reset();
  return true;
}

RowPolicyState* StepApplier::policy_of(size_t parameter) const {
  const Table* table = tables_.parameters().table(parameter);
  return table != nullptr ? table->policy() : nullptr;
}

void StepApplier::abandon() {
  under_way_.reset();
  ending_.reset();
  updater_.abandon();
}

}  // namespace ps
