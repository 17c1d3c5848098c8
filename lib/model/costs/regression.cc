// Costs of the residual r = prediction - label.
#include <cmath>

#include "config/spec.h"
#include "model/costs/cost_entry.h"

namespace ps {

namespace {

// r^2, without a half, as PaddlePaddle's regression_cost: its gradient is 2 r.
struct SquaredLoss {
  static constexpr std::string_view kName = "squared_error";
  using Options = CostOptions;
  explicit SquaredLoss(const Options&) {}

  template <class T>
  T operator()(T residual, T& slope) const {
    slope = 2 * residual;
    return residual * residual;
  }
};

// |r|; its gradient at 0 is 0.
struct AbsoluteLoss {
  static constexpr std::string_view kName = "absolute_error";
  using Options = CostOptions;
  explicit AbsoluteLoss(const Options&) {}

  template <class T>
  T operator()(T residual, T& slope) const {
    slope = static_cast<T>((residual > 0) - (residual < 0));
    return std::abs(residual);
  }
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

// r^2 / 2 up to |r| = delta, then delta (|r| - delta / 2): Huber, "Robust estimation of a location
// parameter", 1964.
struct HuberLoss {
  static constexpr std::string_view kName = "huber";
  using Options = HuberOptions;
  explicit HuberLoss(const Options& options) : delta(options.delta) {}

  template <class T>
  T operator()(T residual, T& slope) const {
    T limit = static_cast<T>(delta), size = std::abs(residual);
    if (size <= limit) return slope = residual, residual * residual / 2;
    slope = std::copysign(limit, residual);
    return limit * (size - limit / 2);
  }

  double delta;
};

template <class T, class Loss>
class RegressionCost : public Cost<T> {
 public:
  RegressionCost(const typename Loss::Options& options, const CostInput& input) : loss_(options) {
    expect_one_value(Loss::kName, input);
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    evaluate_each(scores, batch, device, costs, gradient,
                  [this](T score, T label, T& slope) { return loss_(score - label, slope); });
  }

  void predict(Matrix<const T> output, std::span<float> predictions) const override {
    copy_predictions(output, predictions);
  }

 private:
  const Loss loss_;
};

template <class T>
using SquaredError = RegressionCost<T, SquaredLoss>;
template <class T>
using AbsoluteError = RegressionCost<T, AbsoluteLoss>;
template <class T>
using Huber = RegressionCost<T, HuberLoss>;

}  // namespace

extern const CostEntry kSquaredErrorCost = cost_entry<CostOptions, SquaredError>(
    SquaredLoss::kName, "(prediction - label)^2, without a half, as PaddlePaddle's regression_cost");

extern const CostEntry kAbsoluteErrorCost =
    cost_entry<CostOptions, AbsoluteError>(AbsoluteLoss::kName, "|prediction - label|");

extern const CostEntry kHuberCost =
    cost_entry<HuberOptions, Huber>(HuberLoss::kName, "quadratic for residuals up to delta, linear beyond");

}  // namespace ps
