#include "train/progressive_loss.h"

#include <bit>

namespace ps {

namespace {

// Returns the totals of the examples of `all` that are not in `before`, which may be without tasks.
CostTotals totals_since(const CostTotals& before, CostTotals all) {
  for (size_t t = 0; t < before.tasks.size(); ++t) {
    all.tasks[t].weight -= before.tasks[t].weight;
    all.tasks[t].cost -= before.tasks[t].cost;
  }
  return all;
}

// Returns the least power of two above `examples`.
int64_t power_above(int64_t examples) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(examples))) * 2;
}

}  // namespace

void ProgressiveLoss::begin(const CostTotals& before) {
  last_ = before;
  due_ = before.samples > 0 ? power_above(before.samples) : 1;
}

std::optional<ProgressiveLoss::Row> ProgressiveLoss::add(const CostTotals& totals) {
  if (totals.samples < due_) return std::nullopt;
  const Row row{totals.mean(), totals_since(last_, totals).mean(), totals.samples};
  begin(totals);
  return row;
}

}  // namespace ps
