#include "ps/server/step_applier.h"

#include <algorithm>

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

// By parameter, in the order of ranks and message slices.
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
        const RowPointers* rows = pulled != nullptr ? &(*pulled)[s] : nullptr;
        contributions[slice.parameter].push_back({&slice, request.floats(slice), push->rank, share, rows});
      }
    }
  }
  return contributions;
}

std::vector<ExactSquares> StepApplier::squares(std::span<PendingPush* const> pushes) {
  std::vector<ExactSquares> squares(tables_.size());
  auto contributions = contributions_of(pushes, sum_up(pushes));
  for (size_t p = 0; p < squares.size(); ++p) {
    if (clipping_.needs(p)) squares[p] = updater_.squares(p, contributions[p]);
  }
  return squares;
}

void StepApplier::apply(std::span<PendingPush* const> pushes) {
  const StepInfo total = sum_up(pushes);
  const StepSize step = rule_.next(total);
  const std::vector<double> no_squares(tables_.size());
  const std::vector<float> scales =
      clipping_.scales(whole_squares_ ? *whole_squares_ : no_squares, step.scale);
  whole_squares_.reset();  // those of the next step are others
  auto contributions = contributions_of(pushes, total);
  for (size_t p = 0; p < contributions.size(); ++p) {
    updater_.apply(p, contributions[p], {step.learning_rate, scales[p], step.shrink});
  }
  ++counters_.steps;
}

}  // namespace ps
