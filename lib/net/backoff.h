// Backoff: computes the time to wait before the next attempt.  Used by channels.
#ifndef PS_NET_BACKOFF_H_
#define PS_NET_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "base/random.h"
#include "net/loop.h"

namespace ps {

struct BackoffOptions {
  Duration first = std::chrono::milliseconds(50);
  Duration longest = std::chrono::seconds(5);
};

// The delay doubles from attempt to attempt, up to the longest.  Its second half is random, so that many clients
// that lost the same server do not return at the same moment.  One owner thread.
class Backoff {
 public:
  Backoff(const BackoffOptions& options, Random random)
      : options_(options), random_(random), next_(options.first) {}

  Duration next() {
    Duration delay = next_;
    next_ = std::min(2 * next_, options_.longest);
    return seconds_duration(to_seconds(delay) * (0.5 + 0.5 * random_.uniform()));
  }

  void reset() { next_ = options_.first; }

 private:
  BackoffOptions options_;
  Random random_;
  Duration next_;
};

}  // namespace ps

#endif  // PS_NET_BACKOFF_H_
