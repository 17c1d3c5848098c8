#include "math/group_costs.h"

#include <algorithm>
#include <cmath>

#include "base/reals.h"
#include "math/stable.h"

namespace ps {

namespace {

constexpr int64_t kGroupExamples = 16;  // positions that a block has

// The arrays of one call.
template <class T>
struct GroupCosts {
  const RankingGroups& groups;
  const T* scores;
  const CostTargets& targets;
  T *costs, *gradient;

  T weight(size_t example) const { return T(targets.weight(static_cast<int64_t>(example))); }
  bool positive(size_t example) const { return targets.labels[example] > 0; }
};

// Computes the cost of the example at one position over all its pairs, and its part of their gradients.
template <class T>
void bpr_example(const GroupCosts<T>& call, size_t position) {
  const RankingGroups& groups = call.groups;
  const size_t example = groups.order[position];
  const bool positive = call.positive(example);
  T negatives = 0, cost = 0, slope = 0;
  for (size_t p = groups.begins[position]; p < groups.ends[position]; ++p) {
    const size_t other = groups.order[p];
    if (!call.positive(other)) negatives += 1;
    if (call.positive(other) == positive) continue;
    const T behind =
        positive ? call.scores[other] - call.scores[example] : call.scores[example] - call.scores[other];
    if (positive) cost += call.weight(example) * log1p_exp(behind);
    slope += positive ? -call.weight(example) * logistic(behind) : call.weight(other) * logistic(behind);
  }
  const T share = negatives > 0 ? 1 / negatives : T(0);
  call.costs[example] = share * cost;
  if (call.gradient) call.gradient[example] = share * slope;
}

// With p the softmax of the group's scores and y = weight x label, the costs are y (log(sum of e^s) - s), and
// the gradient is (sum of y) p - y.
template <class T>
void listwise_group(const GroupCosts<T>& call, const size_t* begin, const size_t* end) {
  T largest = call.scores[*begin], sum = 0, total = 0;
  for (const size_t* e = begin; e != end; ++e) largest = std::max(largest, call.scores[*e]);
  for (const size_t* e = begin; e != end; ++e) sum += std::exp(call.scores[*e] - largest);
  const T log_sum = std::log(sum);
  const auto target = [&](size_t example) {
    return call.weight(example) * std::max(T(call.targets.labels[example]), T(0));
  };
  for (const size_t* e = begin; e != end; ++e) {
    total += target(*e);
    call.costs[*e] = target(*e) * (log_sum + (largest - call.scores[*e]));
  }
  if (!call.gradient) return;
  for (const size_t* e = begin; e != end; ++e)
    call.gradient[*e] = total * (std::exp(call.scores[*e] - largest) / sum) - target(*e);
}

}  // namespace

template <class T>
void bpr_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
               const CostTargets& targets, T* costs, T* gradient) {
  const GroupCosts<T> call{groups, scores.data, targets, costs, gradient};
  device.for_each(scores.rows, kGroupExamples, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) bpr_example(call, static_cast<size_t>(p));
  });
}

// A block computes the groups that begin in it.
template <class T>
void listwise_softmax_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
                            const CostTargets& targets, T* costs, T* gradient) {
  const GroupCosts<T> call{groups, scores.data, targets, costs, gradient};
  device.for_each(scores.rows, kGroupExamples, [&](int64_t begin, int64_t end) {
    for (size_t p = static_cast<size_t>(begin); p < static_cast<size_t>(end); ++p) {
      if (groups.begins[p] == p) listwise_group(call, groups.order + p, groups.order + groups.ends[p]);
    }
  });
}

#define PS_INSTANTIATE(T)                                                                                  \
  template void bpr_costs(Device&, const RankingGroups&, Matrix<const T>, const CostTargets&, T*, T*);     \
  template void listwise_softmax_costs(Device&, const RankingGroups&, Matrix<const T>, const CostTargets&, \
                                       T*, T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
