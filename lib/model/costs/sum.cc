#include "model/costs/cost_entry.h"

namespace ps {

namespace {

// The input's values are costs already.
template <class T>
class Sum final : public Cost<T> {
 public:
  Sum(const CostOptions& options, const CostInput&) { expect_no_label("sum", options); }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    sum_costs(device, scores, cost_targets(batch), costs.data(), gradient);
  }
};

}  // namespace

extern const CostEntry kSumCost = cost_entry<CostOptions, Sum>(
    "sum", "the sum of an example's values, which are costs already: for nce and hsigmoid");

}  // namespace ps
