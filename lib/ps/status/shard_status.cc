#include "ps/status/shard_status.h"

#include <cmath>
#include <utility>

namespace ps {

double RateMeter::update(uint64_t total, Time now) {
  constexpr double kSmoothing = 2;
  const double seconds = to_seconds(now - std::exchange(time_, now));
  const uint64_t before = std::exchange(total_, total);
  if (seconds <= 0) return rate_;
  const double present = static_cast<double>(total - before) / seconds;
  rate_ += (present - rate_) * (1 - std::exp(-seconds / kSmoothing));
  return rate_;
}

}  // namespace ps
