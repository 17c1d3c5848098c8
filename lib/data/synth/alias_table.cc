#include "data/synth/alias_table.h"

#include <numeric>

#include "base/error.h"

namespace ps {

AliasTable::AliasTable(std::span<const double> weights) {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  PS_CHECK(!weights.empty() && sum > 0);
  // Columns of mean height 1; each small one is filled up to 1 from a large one.
  std::vector<double> height(weights.size());
  std::vector<uint32_t> small, large;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    height[i] = weights[i] / sum * static_cast<double>(weights.size());
    (height[i] < 1 ? small : large).push_back(i);
  }
  columns_.resize(weights.size());
  // Each turn finishes column `low`: it keeps its own index up to height[low], and gives `high` above that.
  // The height that `high` has given away is subtracted from it, and it becomes small when less than 1 is
  // left.
  while (!small.empty() && !large.empty()) {
    uint32_t low = small.back(), high = large.back();
    small.pop_back();
    columns_[low] = {static_cast<uint32_t>(height[low] * 0x1p32), high};
    height[high] -= 1 - height[low];
    if (height[high] < 1) {
      large.pop_back();
      small.push_back(high);
    }
  }
  // The remaining columns have height 1, except for rounding errors.
  for (uint32_t i : small) columns_[i] = {0, i};
  for (uint32_t i : large) columns_[i] = {0, i};
}

}  // namespace ps
