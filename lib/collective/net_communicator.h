// Communicators between processes, over TCP or a simulated network: whatever the transport is.  Used by
// programs and tests; thread_communicator.h is the same between the threads of a process.
//
// How ranks meet: rank 0 listens at the rendezvous; every other rank listens at a port of its own, connects
// to rank 0 and says which rank of which job it is and where it listens.  When all have come, rank 0 tells
// each where the others listen, and of each two ranks the higher connects to the lower.
#ifndef PS_COLLECTIVE_NET_COMMUNICATOR_H_
#define PS_COLLECTIVE_NET_COMMUNICATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collective/exchange_communicator.h"
#include "net/transport.h"

namespace ps {

struct NetCommunicatorOptions {
  int rank = 0, size = 1;
  Address rendezvous;    // where rank 0 listens
  Address listen;        // of the other ranks; without host: all addresses, without port: one that is free
  std::string job = {};  // a name, for messages; must be equal on all ranks
  uint64_t fingerprint = 0;  // of what must be equal on all ranks beside it
  uint64_t nonce = 1;        // of rank 0: differs from run to run, so that ranks of different runs do not mix

  Duration join_timeout = std::chrono::seconds(60);  // until all ranks have met
  Duration timeout = std::chrono::seconds(60);       // of a collective
  std::string algorithm = kAutomatic;                // of all_reduce
  // Waits on for ranks that are in no collective, as long as they answer roll calls: they are busy with something
  // else, and have their loop run now and then.
  bool patient = false;
  // Asked while a collective waits: once it is true, that ends with kUnavailable.  Whoever makes it true on another thread
  // posts something to the loop then.  Null: never.
  std::function<bool()> stop = {};

  // Called by rank 0 when it listens, with the port that was chosen.
  std::function<void(const Address&)> on_listening = {};
};

// Waits until all ranks have met.  Throws kUnavailable within the join timeout, naming the ranks that have
// not come or are gone; kUsage on a rank whose job, fingerprint, size or protocol differs from rank 0's.  The
// transport must outlive the communicator, whose thread drives the transport's loop.
std::unique_ptr<ExchangeCommunicator> make_net_communicator(Transport& transport,
                                                            const NetCommunicatorOptions& options);

}  // namespace ps

#endif  // PS_COLLECTIVE_NET_COMMUNICATOR_H_
