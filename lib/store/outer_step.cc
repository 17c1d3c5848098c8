#include "store/outer_step.h"

#include "base/error.h"

namespace ps {

bool keeps_momentum(const OuterOptions& options) {
  return options.rule == OuterRule::kSlowMomentum ||
         (options.rule == OuterRule::kNesterov && options.momentum > 0);
}

void outer_step(const OuterOptions& options, float rate, std::span<const float> start,
                std::span<float> momentum, std::span<float> moved) {
  PS_CHECK(start.size() == moved.size() && (momentum.empty() || momentum.size() == moved.size()));
  PS_CHECK(momentum.empty() == !keeps_momentum(options));
  const float a = static_cast<float>(options.learning_rate), b = static_cast<float>(options.momentum);
  const bool slow = options.rule == OuterRule::kSlowMomentum && rate > 0;
  const bool nesterov = options.rule == OuterRule::kNesterov;
  for (size_t i = 0; i < moved.size(); ++i) {
    // The gradient of the outer step is -d.  Slow momentum counts it in units of the inner learning rate,
    // so that the momentum does not depend on the schedule of that rate.
    const float gradient = slow ? -moved[i] / rate : -moved[i];
    if (momentum.empty()) {
      moved[i] = nesterov ? start[i] - a * gradient : start[i] + moved[i];
    } else if (nesterov) {
      momentum[i] = b * momentum[i] + gradient;
      moved[i] = start[i] - a * (b * momentum[i] + gradient);
    } else if (slow) {
      momentum[i] = b * momentum[i] + gradient;
      moved[i] = start[i] - a * rate * momentum[i];
    } else {
      momentum[i] = b * momentum[i];
      moved[i] = start[i] + moved[i];
    }
  }
}

}  // namespace ps
