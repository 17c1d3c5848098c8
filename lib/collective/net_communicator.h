// Communicators between processes, over TCP or a simulated network; the transport decides.  Used by programs
// and tests.
//
// How ranks meet: rank 0 listens at the rendezvous.  Every other rank listens at a port of its own, connects to
// rank 0, and tells it its rank, its job and its address.  When all have come, rank 0 sends the addresses to
// all, and of each two ranks the higher connects to the lower.  With several connections between two ranks, those to rank
// 0 but the first are made at this time, too.
#ifndef PS_COLLECTIVE_NET_COMMUNICATOR_H_
#define PS_COLLECTIVE_NET_COMMUNICATOR_H_

#include <memory>

#include "collective/exchange_communicator.h"
#include "collective/net/options.h"
#include "net/transport.h"

namespace ps {

// Waits until all ranks have met.  Throws kUnavailable within the join timeout, naming the ranks that have
// not come or are gone; kUsage on a rank whose job, fingerprint, size or protocol differs from rank 0's.  The
// transport must outlive the communicator, whose thread drives the transport's loop.
std::unique_ptr<ExchangeCommunicator> make_net_communicator(Transport& transport,
                                                            const NetCommunicatorOptions& options);

}  // namespace ps

#endif  // PS_COLLECTIVE_NET_COMMUNICATOR_H_
