#include <algorithm>

#include "model/costs/cost_entry.h"

namespace ps {

namespace {

// The input's values are costs already.
template <class T>
class Sum final : public Cost<T> {
 public:
  Sum(const CostOptions&, const CostInput&) {}

  void evaluate(Matrix<const T> scores, const Batch& batch, Device&, std::span<T> costs,
                Matrix<T> gradient) const override {
    for (int64_t b = 0; b < scores.rows; ++b) {
      T weight = batch.weight(b), sum = 0;
      for (int64_t c = 0; c < scores.cols; ++c) sum += scores.row(b)[c];
      costs[static_cast<size_t>(b)] = weight * sum;
      if (gradient) std::fill_n(gradient.row(b), scores.cols, weight);
    }
  }

  void predict(Matrix<const T> output, std::span<float> predictions) const override {
    copy_predictions(output, predictions);
  }
};

}  // namespace

extern const CostEntry kSumCost = cost_entry<CostOptions, Sum>(
    "sum", "the sum of an example's values, which are costs already: for nce and hsigmoid");

}  // namespace ps
