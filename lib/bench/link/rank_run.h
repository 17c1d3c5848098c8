// Ranks as threads of this process that meet over links and do something together.  Used by the measurements
// of bench/link.
#ifndef PS_BENCH_LINK_RANK_RUN_H_
#define PS_BENCH_LINK_RANK_RUN_H_

#include <functional>

#include "bench/link/rank_links.h"
#include "collective/exchange_communicator.h"

namespace ps {

using RankBody = std::function<void(ExchangeCommunicator& communicator)>;

// `network` is that of the communicator, behind the rank's link: what a rank does over it takes its share of the link.
using NetworkBody = std::function<void(ExchangeCommunicator& communicator, Transport& network)>;

// Runs `body` for each rank at once, on a thread of its own, to its end.  `timeout` is that of a collective.
// Throws what a rank threw, rather than what its end did to the others.
void run_ranks(const RankLinks& links, int ranks, Duration timeout, const NetworkBody& body);
void run_ranks(const RankLinks& links, int ranks, Duration timeout, const RankBody& body);

// The speed of links and processors that the ranks measure while all are busy.
struct LinkProbe {
  double bits_per_second = 0;  // each way at once, of what collectives move
  double latency_seconds = 0;  // of a small message, its processor time at both ends included
  double sum_rate = 0;         // bytes a second that a rank adds
};

// Called by all ranks; takes about a second.
LinkProbe probe_links(ExchangeCommunicator& communicator, double nominal_bits_per_second);

}  // namespace ps

#endif  // PS_BENCH_LINK_RANK_RUN_H_
