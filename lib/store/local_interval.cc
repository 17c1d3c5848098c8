#include "store/local_interval.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace ps {

namespace {

constexpr double kMostGrowth = 20;  // steps, of fleetx_doc

}  // namespace

// Returns the steps of the next interval by the rule.  The quotient is not a number if it is 0/0, or if a
// cost is negative or infinite.
double LocalInterval::ruled(double cost, double rate) const {
  const double first = static_cast<double>(options_.first), present = static_cast<double>(steps_);
  const double floor = options_.rule == IntervalRule::kFleetxDoc ? options_.floor_cost : 0;
  const double ratio = first_rate_ * (cost - floor) / (rate * (first_cost_ - floor));
  switch (options_.rule) {
    case IntervalRule::kFixed:
      return first;
    case IntervalRule::kAdacomm: {
      const double steps = std::ceil(std::sqrt(ratio) * first);
      return steps >= present ? std::floor(present / 2) : steps;
    }
    case IntervalRule::kFleetxDoc: {
      const double steps = std::floor(std::sqrt(ratio) * first);
      return steps > present + kMostGrowth ? present : steps;
    }
    case IntervalRule::kPaddle:
      return std::ceil(std::sqrt(ratio * first));
  }
  return present;
}

// The first interval only gives the numbers with which later ones are compared: with adacomm the length
// then stays the same, and with the other rules the first quotient is 1.  If ruled gives no finite number,
// the length stays too.
void LocalInterval::next(double cost, double rate, int64_t step) {
  const bool first = !begun_;
  if (first) begun_ = true, first_cost_ = cost, first_rate_ = rate, adapted_at_ = step;
  if (options_.rule == IntervalRule::kAdacomm) {
    if (first || step - adapted_at_ < options_.adapt_steps) return;
    adapted_at_ = step;
  }
  const double steps = ruled(cost, rate);
  if (!std::isfinite(steps)) return;
  const double most =
      static_cast<double>(options_.rule == IntervalRule::kFixed ? options_.first : kMostAdaptiveSteps);
  steps_ = static_cast<int64_t>(std::clamp(steps, 1.0, most));
}

// interval := steps:i64 begun:u8 first_cost:f64 first_rate:f64 adapted_at:i64
void LocalInterval::save(std::string& out) const {
  put(out, steps_);
  put(out, static_cast<uint8_t>(begun_));
  put(out, first_cost_);
  put(out, first_rate_);
  put(out, adapted_at_);
}

void LocalInterval::load(ByteReader& in) {
  steps_ = in.get<int64_t>();
  begun_ = in.get<uint8_t>() != 0;
  first_cost_ = in.get<double>();
  first_rate_ = in.get<double>();
  adapted_at_ = in.get<int64_t>();
  const bool bounded = steps_ >= 1 && steps_ <= std::max(options_.first, kMostAdaptiveSteps);
  if (!in.ok() || !bounded || std::isnan(first_cost_) || std::isnan(first_rate_))
    fail(Code::kCorrupt, "state of an interval of local steps makes no sense");
}

}  // namespace ps
