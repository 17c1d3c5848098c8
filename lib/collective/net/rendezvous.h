// The rendezvous, at which ranks find each other.  Used by make_net_communicator, whose header describes the
// steps.
#ifndef PS_COLLECTIVE_NET_RENDEZVOUS_H_
#define PS_COLLECTIVE_NET_RENDEZVOUS_H_

#include <memory>
#include <vector>

#include "collective/net/options.h"
#include "collective/net/rank_lanes.h"

namespace ps {

// Returns the connections to every other rank, by rank; the own ones are null.  Errors are those of make_net_communicator.
std::vector<std::unique_ptr<RankLanes>> meet(Transport& transport, BufferPool& pool,
                                             const NetCommunicatorOptions& options);

// Runs the loop for a second, and longer while bytes still reach peers, but not beyond `deadline`.  So the last
// frames arrive, and peers close their links.  Then cuts all remaining links.
void say_goodbye(Loop& loop, std::span<const std::unique_ptr<RankLanes>> links, Time deadline);

// "rank 2 at '10.0.0.7:41234'".
std::string rank_text(int rank, const RankLanes& link);

}  // namespace ps

#endif  // PS_COLLECTIVE_NET_RENDEZVOUS_H_
