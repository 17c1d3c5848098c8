#include "optim/clipping.h"

#include <cmath>

namespace ps {

static float clip_factor(double norm, double limit) {
  return norm > limit ? static_cast<float>(limit / norm) : 1.0f;
}

Clipping::Clipping(std::span<const ParameterSpec> specs, const OptimizerPlan& plan)
    : global_limit_(plan.clip_global_norm) {
  for (const ParameterSpec& spec : specs) {
    moves_.push_back(spec.kind != ParameterKind::kStatistic);
    limits_.push_back(spec.tuning.clip_norm ? spec.tuning.clip_norm : plan.clip_norm);
    any_ |= needs(limits_.size() - 1);
  }
}

// First clips each parameter to its own limit, and adds up the squares of the clipped norms; then applies one
// factor to all parameters, so that the norm of all together keeps the global limit.
std::vector<float> Clipping::scales(std::span<const double> squares, float scale) const {
  std::vector<float> scales(limits_.size(), scale);
  if (!any_) return scales;
  double all_squares = 0;
  for (size_t p = 0; p < limits_.size(); ++p) {
    if (!needs(p)) continue;
    double norm = std::sqrt(squares[p]);
    if (limits_[p]) scales[p] *= clip_factor(norm * static_cast<double>(scale), *limits_[p]);
    norm *= static_cast<double>(scales[p]);
    all_squares += norm * norm;
  }
  if (global_limit_) {
    float factor = clip_factor(std::sqrt(all_squares), *global_limit_);
    for (float& parameter_scale : scales) parameter_scale *= factor;
  }
  return scales;
}

}  // namespace ps
