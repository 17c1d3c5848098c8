#include <array>

#include "model/cost.h"

namespace ps {

extern const CostEntry kCrossEntropyCost, kBinaryCrossEntropyCost, kFocalCost, kSquaredErrorCost,
    kAbsoluteErrorCost, kHuberCost, kRankingCost, kBprCost, kListwiseSoftmaxCost, kMultiLabelCrossEntropyCost,
    kSumCost;

std::span<const CostEntry* const> cost_catalog() {
  static constexpr std::array kCatalog = {
      &kCrossEntropyCost,
      &kBinaryCrossEntropyCost,
      &kFocalCost,
      &kSquaredErrorCost,
      &kAbsoluteErrorCost,
      &kHuberCost,
      &kRankingCost,
      &kBprCost,
      &kListwiseSoftmaxCost,
      &kMultiLabelCrossEntropyCost,
      &kSumCost,
  };
  return kCatalog;
}

}  // namespace ps
