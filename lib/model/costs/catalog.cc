#include <array>

#include "model/cost.h"

namespace ps {

extern const CostEntry kCrossEntropyCost, kBinaryCrossEntropyCost, kSquaredErrorCost, kAbsoluteErrorCost,
    kHuberCost, kRankingCost, kSumCost;

std::span<const CostEntry* const> cost_catalog() {
  static constexpr std::array kCatalog = {
      &kCrossEntropyCost, &kBinaryCrossEntropyCost,
      &kSquaredErrorCost, &kAbsoluteErrorCost,
      &kHuberCost,        &kRankingCost,
      &kSumCost,
  };
  return kCatalog;
}

}  // namespace ps
