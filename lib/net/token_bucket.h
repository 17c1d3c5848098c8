// A limit on a rate, in bytes a second, that lets bursts pass.  Used by shaped links.
#ifndef PS_NET_TOKEN_BUCKET_H_
#define PS_NET_TOKEN_BUCKET_H_

#include <algorithm>
#include <cstdint>

#include "net/loop.h"

namespace ps {

// Tokens come at `bytes_per_second` until there are `burst_bytes` of them, the number at the beginning.  All
// connections of one thread may share it.  One owner thread.
class TokenBucket {
 public:
  TokenBucket(double bytes_per_second, double burst_bytes)
      : rate_(bytes_per_second), burst_(burst_bytes), level_(burst_bytes) {}

  // Takes `bytes` tokens on credit; returns when the debt is paid: the time at which they may be sent.  Calls
  // are served in their order.
  Time take(Time now, uint64_t bytes) {
    level_ = std::min(burst_, level_ + to_seconds(now - last_) * rate_);
    last_ = now;
    level_ -= static_cast<double>(bytes);
    return level_ >= 0 ? now : now + seconds_duration(-level_ / rate_);
  }

 private:
  double rate_, burst_, level_;
  Time last_{};
};

}  // namespace ps

#endif  // PS_NET_TOKEN_BUCKET_H_
