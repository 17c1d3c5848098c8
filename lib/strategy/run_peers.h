// Functions by which the trainers of a run on servers also meet each other.  Used by the strategy hybrid.
#ifndef PS_STRATEGY_RUN_PEERS_H_
#define PS_STRATEGY_RUN_PEERS_H_

#include <functional>
#include <memory>

#include "collective/communicator.h"
#include "net/loop.h"
#include "ps/client/remote_store.h"

namespace ps {

// Makes a communicator within this time, or throws kUnavailable.
using MeetPeers = std::function<std::unique_ptr<Communicator>(Duration timeout)>;

// Waits until all trainers of the run have come, for at most `timeout`. If a trainer has come and is gone
// again, it is waited for once more.  Throws what `meet` throws; throws StateLost if the run is over, or if
// its trainers have met before this process came, since they cannot let another one in.
std::unique_ptr<Communicator> meet_in_run(RemoteStore& remote, Loop& loop, Duration timeout,
                                          const MeetPeers& meet);

}  // namespace ps

#endif  // PS_STRATEGY_RUN_PEERS_H_
