// RankNet: Burges et al., "Learning to rank using gradient descent", ICML 2005.
//
// In each group (query) of the batch, every pair (i, j) with label i > label j costs log(1 + e^(score j -
// score i)). The cost of a pair, and its weight, are those of the preferred example i.  An example that is
// preferred to none costs 0.  Examples of a group need not lie together, but only those in the same batch are
// compared; a batch without groups is one group.
#include <algorithm>
#include <numeric>
#include <vector>

#include "model/costs/cost_entry.h"

namespace ps {

namespace {

// The examples of a batch sorted by group, within each group in the order of the batch.
struct Groups {
  std::vector<size_t> order;         // [B], examples
  std::vector<size_t> begins, ends;  // [B], by place in `order`: the group's places are [begin, end)
};

Groups find_groups(const Batch& batch) {
  size_t count = batch.labels.size();
  auto group = [&](size_t example) { return batch.groups.empty() ? 0 : batch.groups[example]; };
  Groups out;
  out.order.resize(count);
  std::iota(out.order.begin(), out.order.end(), size_t{0});
  std::stable_sort(out.order.begin(), out.order.end(),
                   [&](size_t a, size_t b) { return group(a) < group(b); });
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && group(out.order[end]) == group(out.order[begin])) ++end;
    out.begins.resize(end, begin);
    out.ends.resize(end, end);
  }
  return out;
}

template <class T>
class Ranking final : public Cost<T> {
 public:
  Ranking(const CostOptions&, const CostInput& input) { expect_one_value("ranking", input); }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    const Groups groups = find_groups(batch);
    ranking_costs(device, {groups.order.data(), groups.begins.data(), groups.ends.data()}, scores,
                  cost_targets(batch), costs.data(), gradient.data);
  }
};

}  // namespace

extern const CostEntry kRankingCost = cost_entry<CostOptions, Ranking>(
    "ranking", "RankNet: log(1 + e^(worse - better)) over the pairs of a group whose labels differ");

}  // namespace ps
