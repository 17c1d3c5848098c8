// The items of the kernels of math/group_costs.h: a position in the examples of a batch, which are sorted by group.  The
// processor and devices with memory of their own both compile them (math/device_kernels.h).  Gradients are null when they
// are not wanted.
//
// Every example goes through its own pairs, so that each sum has one writer and one order.
#ifndef PS_MATH_ITEMS_RANKING_ITEMS_H_
#define PS_MATH_ITEMS_RANKING_ITEMS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "math/items/cost_items.h"
#include "math/stable.h"

namespace ps {

// The examples of a batch sorted by group: position p in [0, B) has example order[p], whose group is at the
// positions [begins[p], ends[p]).
struct RankingGroups {
  const size_t *order, *begins, *ends;  // [B]
};

// The arrays of one call.
template <class T>
struct GroupCosts {
  RankingGroups groups;
  const T* scores;
  CostTargets targets;
  T *costs, *gradient;

  constexpr T weight(size_t example) const { return T(targets.weight(static_cast<int64_t>(example))); }
  constexpr float label(size_t example) const { return targets.labels[example]; }
};

// The sum over the pairs of an example with a lower label of log(1 + e^(s_other - s)).
template <class T>
struct RankItems {
  GroupCosts<T> call;

  constexpr void operator()(int64_t position) const {
    const RankingGroups& groups = call.groups;
    const size_t example = groups.order[position];
    T cost = 0, slope = 0;
    for (size_t p = groups.begins[position]; p < groups.ends[position]; ++p) {
      const size_t other = groups.order[p];
      if (call.label(example) > call.label(other)) {
        const T behind = call.scores[other] - call.scores[example];
        cost += log1p_exp(behind);
        slope -= call.weight(example) * logistic(behind);
      } else if (call.label(example) < call.label(other)) {
        slope += call.weight(other) * logistic(call.scores[example] - call.scores[other]);
      }
    }
    call.costs[example] = call.weight(example) * cost;
    if (call.gradient != nullptr) call.gradient[example] = slope;
  }
};

// The mean over the negative examples of a positive one's group.
template <class T>
struct BprItems {
  GroupCosts<T> call;

  constexpr void operator()(int64_t position) const {
    const RankingGroups& groups = call.groups;
    const size_t example = groups.order[position];
    const bool positive = call.label(example) > 0;
    T negatives = 0, cost = 0, slope = 0;
    for (size_t p = groups.begins[position]; p < groups.ends[position]; ++p) {
      const size_t other = groups.order[p];
      const bool other_positive = call.label(other) > 0;
      if (!other_positive) negatives += 1;
      if (other_positive == positive) continue;
      const T behind =
          positive ? call.scores[other] - call.scores[example] : call.scores[example] - call.scores[other];
      if (positive) cost += call.weight(example) * log1p_exp(behind);
      slope += positive ? -call.weight(example) * logistic(behind) : call.weight(other) * logistic(behind);
    }
    const T share = negatives > 0 ? 1 / negatives : T(0);
    call.costs[example] = share * cost;
    if (call.gradient != nullptr) call.gradient[example] = share * slope;
  }
};

// With p the softmax of the group's scores and y = weight x label, the costs are y (log(sum of e^s) - s), and
// the gradient is (sum of y) p - y.  The first position of a group has all of it.
template <class T>
struct ListwiseItems {
  GroupCosts<T> call;

  constexpr void operator()(int64_t position) const {
    const size_t first = static_cast<size_t>(position), end = call.groups.ends[position];
    if (call.groups.begins[position] != first) return;
    const size_t* const order = call.groups.order;
    T largest = call.scores[order[first]], sum = 0, total = 0;
    for (size_t p = first; p < end; ++p) largest = std::max(largest, call.scores[order[p]]);
    for (size_t p = first; p < end; ++p) sum += std::exp(call.scores[order[p]] - largest);
    const T log_sum = std::log(sum);
    for (size_t p = first; p < end; ++p) {
      total += target(order[p]);
      call.costs[order[p]] = target(order[p]) * (log_sum + (largest - call.scores[order[p]]));
    }
    for (size_t p = first; call.gradient != nullptr && p < end; ++p) {
      const T probability = std::exp(call.scores[order[p]] - largest) / sum;
      call.gradient[order[p]] = total * probability - target(order[p]);
    }
  }

 private:
  constexpr T target(size_t example) const {
    return call.weight(example) * std::max(T(call.label(example)), T(0));
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_RANKING_ITEMS_H_
