#include "model/calibration.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "config/spec.h"

namespace ps {

namespace {

void check_calibration(const Calibration& calibration, std::string_view path) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (!is_finite(calibration.scale) || !is_finite(calibration.offset))
    fail(Code::kUsage, path, ".scale: not finite");
  if (calibration.type != "isotonic") return;
  const std::vector<double>&from = calibration.from, &to = calibration.to;
  if (from.empty() || from.size() != to.size())
    fail(Code::kUsage, path, ".from: ", from.size(), " numbers, and to has ", to.size(),
         ": expected as many, and one at least");
  if (!std::is_sorted(from.begin(), from.end()) || !std::is_sorted(to.begin(), to.end()))
    fail(Code::kUsage, path, ".from: from and to have to ascend");
}

}  // namespace

const ObjectSpec<Calibration>& Calibration::spec() {
  static const ObjectSpec<Calibration> spec = [] {
    ObjectSpec<Calibration> s;
    s.field("type", &Calibration::type, "as in train.calibrate").one_of({"platt", "isotonic"});
    s.field("scale", &Calibration::scale, "platt: multiplies the logit of a probability");
    s.field("offset", &Calibration::offset, "platt: added to that");
    s.field("from", &Calibration::from, "isotonic: probabilities as the model predicts them, ascending");
    s.field("to", &Calibration::to, "isotonic: what they become; straight lines between them");
    s.check(check_calibration);
    return s;
  }();
  return spec;
}

// The bounds are 2^-24 from 0 and 1, the distance from 1 to the float below it.
double bounded_logit(double probability) {
  constexpr double kLeast = 0x1p-24;
  const double p = std::clamp(probability, kLeast, 1 - kLeast);
  return std::log(p) - std::log1p(-p);
}

// "platt" is the method of Platt, "Probabilistic outputs for support vector machines", 1999: a logistic
// function of the logit, which is bounded, since that of a probability of 0 or 1 would be infinite.
// "isotonic" draws straight lines between the points (from, to), and is constant before the first and after
// the last; upper_bound gives from[above - 1] <= p < from[above], so that the division is safe among equal
// points.
float Calibration::apply(float probability) const {
  if (std::isnan(probability)) return probability;
  if (type == "platt") {
    const double score = scale * bounded_logit(double{probability}) + offset;
    return static_cast<float>(1 / (1 + std::exp(-score)));
  }
  const double p = double{probability};
  const auto above = static_cast<size_t>(std::upper_bound(from.begin(), from.end(), p) - from.begin());
  if (above == 0) return static_cast<float>(to.front());
  if (above == from.size()) return static_cast<float>(to.back());
  const double share = (p - from[above - 1]) / (from[above] - from[above - 1]);
  return static_cast<float>(to[above - 1] + share * (to[above] - to[above - 1]));
}

}  // namespace ps
