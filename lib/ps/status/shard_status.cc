#include "ps/status/shard_status.h"

#include <cmath>
#include <utility>

namespace ps {

// Exponential smoothing over irregular times: of the former rate a share exp(-seconds / kSmoothing) is
// left, and the rest is the rate of these seconds.  So the result hardly depends on how often this is
// called.
double RateMeter::update(uint64_t total, Time now) {
  constexpr double kSmoothing = 2;
  const double seconds = to_seconds(now - std::exchange(time_, now));
  const uint64_t last = std::exchange(total_, total);
  // A smaller count belongs to another shard, which began at 0.
  const uint64_t before = total < last ? 0 : last;
  if (seconds <= 0) return rate_;
  const double present = static_cast<double>(total - before) / seconds;
  rate_ += (present - rate_) * (1 - std::exp(-seconds / kSmoothing));
  return rate_;
}

}  // namespace ps
