// Costs of the scores of a group (query, user).  Only examples in the same batch are compared.
//
// ranking is RankNet, Burges et al., "Learning to rank using gradient descent", ICML 2005: every pair (i, j)
// with label i > label j costs log(1 + e^(score j - score i)).  The cost of a pair, and its weight, are those
// of the preferred example i.  An example that is preferred to no other costs 0. math/group_costs.h explains
// the other costs.
#include "math/group_costs.h"
#include "model/costs/cost_entry.h"
#include "model/costs/groups.h"

namespace ps {

namespace {

template <class T>
class Ranking final : public Cost<T> {
 public:
  Ranking(const CostOptions&, const CostInput& input) { expect_one_value("ranking", input); }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    const Groups groups = find_groups(batch);
    ranking_costs(device, groups.view(), scores, cost_targets(batch), costs.data(), gradient.data);
  }
};

template <class T>
class Bpr final : public Cost<T> {
 public:
  Bpr(const CostOptions&, const CostInput& input) { expect_one_value("bpr", input); }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    const Groups groups = find_groups(batch);
    bpr_costs(device, groups.view(), scores, cost_targets(batch), costs.data(), gradient.data);
  }
};

template <class T>
class ListwiseSoftmax final : public Cost<T> {
 public:
  ListwiseSoftmax(const CostOptions&, const CostInput& input) { expect_one_value("listwise_softmax", input); }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    const Groups groups = find_groups(batch);
    listwise_softmax_costs(device, groups.view(), scores, cost_targets(batch), costs.data(), gradient.data);
  }
};

}  // namespace

extern const CostEntry kRankingCost = cost_entry<CostOptions, Ranking>(
    "ranking", "RankNet: log(1 + e^(worse - better)) over the pairs of a group whose labels differ");

extern const CostEntry kBprCost =
    cost_entry<CostOptions, Bpr>("bpr",
                                 "Bayesian personalised ranking: log(1 + e^(negative - positive)), for each "
                                 "positive example of a group its mean over the negative ones");

extern const CostEntry kListwiseSoftmaxCost =
    cost_entry<CostOptions, ListwiseSoftmax>("listwise_softmax",
                                             "label times -log of the softmax of the scores of a group: "
                                             "relevant examples shall be the first of their list");

}  // namespace ps
