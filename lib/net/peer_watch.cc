#include "net/peer_watch.h"

#include <algorithm>

#include "base/text.h"

namespace ps {

// Two signs of life may be late before a third one counts as missing.
ConnectionOptions alive_within(Duration timeout) {
  ConnectionOptions options;
  options.silence_timeout = timeout;
  options.alive_interval = std::min(options.alive_interval, timeout / 3);
  options.slow_timeout = std::max(options.slow_timeout, timeout);
  return options;
}

PeerWatch::PeerWatch(const ConnectionOptions& options)
    : options_(options),
      interval_(std::max<Duration>(std::min({options.alive_interval, options.silence_timeout / 4,
                                             options.slow_timeout / 4, options.stall_timeout / 4}),
                                   std::chrono::milliseconds(1))) {}

// A tick counts as silent if nothing came though the connection wanted to read, and as slow if too little
// came of a frame that has begun.  One tick of enough bytes starts a count anew; a count over its time-out
// ends the peer.
std::string PeerWatch::check_reading(uint64_t received, bool wanted, bool inside_frame) {
  const uint64_t moved = received - received_;
  silent_ticks_ = wanted && moved == 0 ? silent_ticks_ + 1 : 0;
  const double enough = options_.min_bytes_per_second * to_seconds(interval_);
  const bool slow = wanted && inside_frame && static_cast<double>(moved) < enough;
  slow_ticks_ = slow ? slow_ticks_ + 1 : 0;
  if (over(silent_ticks_, options_.silence_timeout)) {
    return cat("no sign of life for ", to_seconds(options_.silence_timeout), " s");
  }
  if (over(slow_ticks_, options_.slow_timeout)) {
    return cat("too slow for ", to_seconds(options_.slow_timeout), " s");
  }
  return "";
}

std::string PeerWatch::check_writing(uint64_t sent, bool queued) {
  const bool slow =
      queued && static_cast<double>(sent - sent_) < options_.min_bytes_per_second * to_seconds(interval_);
  stalled_ticks_ = slow ? stalled_ticks_ + 1 : 0;
  if (!over(stalled_ticks_, options_.stall_timeout)) return "";
  return cat("has not read enough for ", to_seconds(options_.stall_timeout), " s");
}

}  // namespace ps
