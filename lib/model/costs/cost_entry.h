// Shared by the files of this folder: makes entries, and has the base of costs of one value per example.
#ifndef PS_MODEL_COSTS_COST_ENTRY_H_
#define PS_MODEL_COSTS_COST_ENTRY_H_

#include <memory>
#include <span>
#include <string_view>

#include "config/spec.h"
#include "model/cost.h"

namespace ps {

// Makes the entry of a class template that is constructed from (Options, CostInput).
template <class Options, template <class> class CostOf>
constexpr CostEntry cost_entry(std::string_view name, std::string_view help) {
  return {{name, help, []() -> const AnySpec& { return Options::spec(); }},
          [](const Json& object, const CostInput& input) -> std::unique_ptr<Cost<float>> {
            return std::make_unique<CostOf<float>>(Options::spec().parse(object, ""), input);
          },
          [](const Json& object, const CostInput& input) -> std::unique_ptr<Cost<double>> {
            return std::make_unique<CostOf<double>>(Options::spec().parse(object, ""), input);
          }};
}

// Throws kUsage "NAME takes one value per example, found 5" unless cols is 1.
void expect_one_value(std::string_view cost, const CostInput& input);

// predictions <- output.
template <class T>
void copy_predictions(Matrix<const T> output, std::span<float> predictions) {
  for (int64_t i = 0; i < output.size(); ++i)
    predictions[static_cast<size_t>(i)] = static_cast<float>(output.data[i]);
}

// Costs of one value per example: cost = weight x loss(value, label, slope), where loss also sets its
// derivative by the value.
template <class T, class Loss>
void evaluate_each(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                   Matrix<T> gradient, const Loss& loss) {
  constexpr int64_t kBlock = 1024;  // examples: some microseconds of work
  device.for_each(scores.rows, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      T weight = batch.weight(b), slope = 0;
      costs[static_cast<size_t>(b)] =
          weight * loss(scores.data[b], T(batch.labels[static_cast<size_t>(b)]), slope);
      if (gradient) gradient.data[b] = weight * slope;
    }
  });
}

}  // namespace ps

#endif  // PS_MODEL_COSTS_COST_ENTRY_H_
