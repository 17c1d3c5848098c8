#include "train/progressive_loss.h"

#include <bit>

namespace ps {

namespace {

double mean_cost(double cost, double weight) {
  return weight > 0 ? cost / weight : 0;
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
  const Row row{mean_cost(totals.cost, totals.weight),
                mean_cost(totals.cost - last_.cost, totals.weight - last_.weight), totals.samples};
  begin(totals);
  return row;
}

}  // namespace ps
