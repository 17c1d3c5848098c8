// Runs ranks as threads of this process, which meet over links and run a function together.  Used by the
// measurements of bench/link.
#ifndef PS_BENCH_LINK_RANK_RUN_H_
#define PS_BENCH_LINK_RANK_RUN_H_

#include <functional>

#include "bench/link/rank_links.h"
#include "collective/exchange_communicator.h"

namespace ps {

using RankBody = std::function<void(ExchangeCommunicator& communicator)>;

// `network` is the transport of the communicator, behind the rank's link: other uses of it take their share
// of the link.
using NetworkBody = std::function<void(ExchangeCommunicator& communicator, Transport& network)>;

// Runs `body` for each rank at once, on a thread of its own, and waits until all have ended.  `timeout` is
// that of a collective.  When ranks fail, throws the first error that is no consequence of another rank's
// end.
void run_ranks(const RankLinks& links, int ranks, Duration timeout, const NetworkBody& body);
void run_ranks(const RankLinks& links, int ranks, Duration timeout, const RankBody& body);

// The speeds of links and processors, which the ranks measure while all are busy.
struct LinkProbe {
  double bits_per_second = 0;       // rate of each link, each way at once, of what collectives move
  double lone_bits_per_second = 0;  // the same of one link, while the others are idle
  double latency_seconds = 0;       // time of a small message, with its processor time at both ends
  double sum_rate = 0;              // bytes a second that a rank adds up
};

// Measures the speeds.  All ranks call it; it takes about two seconds.
LinkProbe probe_links(ExchangeCommunicator& communicator, double nominal_bits_per_second);

}  // namespace ps

#endif  // PS_BENCH_LINK_RANK_RUN_H_
