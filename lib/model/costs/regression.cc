// Costs of the residual, prediction - label: math/loss_rules.h has their formulas.
#include "config/spec.h"
#include "model/costs/cost_entry.h"

namespace ps {

namespace {

struct SquaredEntry {
  static constexpr std::string_view kName = "squared_error";
  using Options = CostOptions;
  static SquaredLoss loss(const Options&) { return {}; }
};

struct AbsoluteEntry {
  static constexpr std::string_view kName = "absolute_error";
  using Options = CostOptions;
  static AbsoluteLoss loss(const Options&) { return {}; }
};

struct HuberOptions : CostOptions {
  double delta = 1;

  static const ObjectSpec<HuberOptions>& spec() {
    static const ObjectSpec<HuberOptions> spec = [] {
      ObjectSpec<HuberOptions> s;
      s.include(CostOptions::spec());
      s.field("delta", &HuberOptions::delta, "residual at which the cost turns from quadratic to linear")
          .above(0);
      return s;
    }();
    return spec;
  }
};

struct HuberEntry {
  static constexpr std::string_view kName = "huber";
  using Options = HuberOptions;
  static HuberLoss loss(const Options& options) { return {options.delta}; }
};

template <class T, class Entry>
class RegressionCost : public Cost<T> {
 public:
  RegressionCost(const typename Entry::Options& options, const CostInput& input)
      : loss_(Entry::loss(options)) {
    expect_one_value(Entry::kName, input);
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    evaluate_losses(device, loss_, scores, cost_targets(batch), costs.data(), gradient.data);
  }

 private:
  const decltype(Entry::loss({})) loss_;
};

template <class T>
using SquaredError = RegressionCost<T, SquaredEntry>;
template <class T>
using AbsoluteError = RegressionCost<T, AbsoluteEntry>;
template <class T>
using Huber = RegressionCost<T, HuberEntry>;

}  // namespace

extern const CostEntry kSquaredErrorCost = cost_entry<CostOptions, SquaredError>(
    SquaredEntry::kName, "(prediction - label)^2, without a half, as PaddlePaddle's regression_cost");

extern const CostEntry kAbsoluteErrorCost =
    cost_entry<CostOptions, AbsoluteError>(AbsoluteEntry::kName, "|prediction - label|");

extern const CostEntry kHuberCost =
    cost_entry<HuberOptions, Huber>(HuberEntry::kName, "quadratic for residuals up to delta, linear beyond");

}  // namespace ps
