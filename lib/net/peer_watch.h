// PeerWatch: says when the peer of a connection is dead: silent, or too slow in sending or in taking.
// Used by Connection, which owns one, and tells it at every tick what has moved since.
#ifndef PS_NET_PEER_WATCH_H_
#define PS_NET_PEER_WATCH_H_

#include <cstdint>
#include <string>

#include "net/loop.h"

namespace ps {

struct ConnectionOptions {
  // Bytes of frames not yet written from which on the owner should wait for on_drained.
  uint64_t max_queued_bytes = uint64_t{4} << 20;

  // A side that has sent nothing for this long says that it is there.
  Duration alive_interval = std::chrono::seconds(5);
  // A peer from which nothing came for this long is dead.  Time in which the own loop did not run, or did not
  // want to read, does not count.
  Duration silence_timeout = std::chrono::seconds(15);
  // A frame once begun must come at this rate at least, over any `slow_timeout`.
  double min_bytes_per_second = 16 << 10;
  Duration slow_timeout = std::chrono::seconds(30);
  // A peer that takes what is queued more slowly than that, for this long, is closed; kNever: it may.
  Duration stall_timeout = kNever;
  // How long closing may take: to write what is queued, and to hear the peer's end.
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

  // At a tick, with the bytes that have come so far in all.  `wanted`: the connection has tried to read;
  // `inside_frame`: a frame has begun, and is not whole.  Returns why the peer counts as dead, or an empty text.
  std::string check_reading(uint64_t received, bool wanted, bool inside_frame);

  // The same with the bytes that were sent.  `queued`: there are more to send.
  std::string check_writing(uint64_t sent, bool queued);

  // True when nothing was sent since the last tick: the peer has to be told that this side is there.
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
