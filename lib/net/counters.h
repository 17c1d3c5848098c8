// Counters of the traffic on the connections of a server or a channel.  Used by status pages and tests.
#ifndef PS_NET_COUNTERS_H_
#define PS_NET_COUNTERS_H_

#include <cstdint>

namespace ps {

// Owner thread only; each only grows.
struct NetCounters {
  uint64_t connections_opened = 0;
  uint64_t connections_refused = 0;  // beyond the limit of a server
  uint64_t connections_closed = 0;   // for whatever reason
  uint64_t frames_received = 0, frames_sent = 0;
  uint64_t bytes_received = 0, bytes_sent = 0;
  uint64_t frames_refused = 0;      // too long, of unknown type or version, or a damaged body
  uint64_t streams_broken = 0;      // bytes that are no frames, damaged headers, ends inside a frame
  uint64_t peers_timed_out = 0;     // silent, too slow, or not reading
  uint64_t requests_resent = 0;     // by a channel, over a new connection
  uint64_t answers_unexpected = 0;  // to a request that was cancelled, or answered already
};

}  // namespace ps

#endif  // PS_NET_COUNTERS_H_
