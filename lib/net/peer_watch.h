// PeerWatch: decides when the peer of a connection counts as dead: when it is silent, or too slow in sending or
// in receiving.  Used by Connection, which owns one and tells it at every tick how many bytes have moved.
#ifndef PS_NET_PEER_WATCH_H_
#define PS_NET_PEER_WATCH_H_

#include <cstdint>
#include <string>

#include "net/loop.h"

namespace ps {

struct ConnectionOptions {
  // Bytes of frames not yet written from which on the owner should wait for on_drained.
  uint64_t max_queued_bytes = uint64_t{4} << 20;

  // A side that has sent nothing for this time sends a sign of life.
  Duration alive_interval = std::chrono::seconds(5);
  // A peer that has sent nothing for this time counts as dead.  Time in which the own loop did not run, or did
  // not want to read, does not count.
  Duration silence_timeout = std::chrono::seconds(15);
  // Within a frame, bytes must come at this rate at least, over any `slow_timeout`.
  double min_bytes_per_second = 16 << 10;
  Duration slow_timeout = std::chrono::seconds(30);
  // A peer that receives queued bytes more slowly than that for this time is closed; kNever: it is not.
  Duration stall_timeout = kNever;
  // The longest time for closing, in which the queue is written and the peer ends its side.
  Duration close_timeout = std::chrono::seconds(5);
};

// Options for peers that are dead when nothing came for `timeout`; both sides of a connection need the same.
ConnectionOptions alive_within(Duration timeout);

// Counts ticks, and does not look at a clock: a loop that did not run for long would take its peers for dead.  The
// connection's thread.
class PeerWatch {
 public:
  explicit PeerWatch(const ConnectionOptions& options);

  // The time between ticks: so short that no time-out is missed by more than a quarter of itself.
  Duration tick_interval() const { return interval_; }

  // To be called at a tick with the number of bytes received so far.  `wanted` is true if the connection has
  // tried to read, and `inside_frame` if a frame has begun and is not complete.  Returns the reason for which
  // the peer counts as dead, or an empty text.
  std::string check_reading(uint64_t received, bool wanted, bool inside_frame);

  // The same for the number of bytes sent.  `queued` is true if there are more to send.
  std::string check_writing(uint64_t sent, bool queued);

  // Returns true if nothing was sent since the last tick, so that a sign of life is due.
  bool sent_nothing(uint64_t sent) const { return sent == sent_; }

  // Ends a tick.
  void end_tick(uint64_t received, uint64_t sent) { received_ = received, sent_ = sent; }

 private:
  bool over(int ticks, Duration timeout) const { return timeout != kNever && ticks * interval_ >= timeout; }

  const ConnectionOptions options_;
  const Duration interval_;
  uint64_t received_ = 0, sent_ = 0;                           // at the last tick
  int silent_ticks_ = 0, slow_ticks_ = 0, stalled_ticks_ = 0;  // the last ones
};

}  // namespace ps

#endif  // PS_NET_PEER_WATCH_H_
