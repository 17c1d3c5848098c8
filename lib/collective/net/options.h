// Options of communicators between processes.  Used by make_net_communicator, and by the rendezvous.
#ifndef PS_COLLECTIVE_NET_OPTIONS_H_
#define PS_COLLECTIVE_NET_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "collective/exchange_communicator.h"
#include "net/transport.h"

namespace ps {

// The most connections between two ranks.
inline constexpr int kMostConnections = 16;

// In place of a number of connections: as many as pay, which the ranks measure when they have met
// (collective/connection_choice.h).
inline constexpr int kMeasuredConnections = 0;

struct NetCommunicatorOptions {
  int rank = 0, size = 1;
  Address rendezvous;  // address at which rank 0 listens
  // address at which other ranks listen; without host: all addresses; without port: a free one
  Address listen;
  std::string job = {};      // name for messages; must be equal on all ranks
  uint64_t fingerprint = 0;  // fingerprint of further settings that must be equal on all ranks
  // number of connections between two ranks, up to kMostConnections, or kMeasuredConnections; must be equal on
  // all ranks
  int connections = 1;
  uint64_t nonce = 1;  // used by rank 0: differs from run to run, so that ranks of different runs do not mix

  Duration join_timeout = std::chrono::seconds(60);  // time limit until all ranks have met
  Duration timeout = std::chrono::seconds(60);       // time limit of a collective
  std::string algorithm = kAutomatic;                // algorithm of all_reduce
  // If true, a collective goes on waiting for ranks that are in no collective, as long as they answer roll
  // calls: they are busy with other work, and run their loop now and then.
  bool patient = false;
  // Asked while a collective waits; when it returns true, the collective ends with kUnavailable.  A thread that
  // makes it true must then post something to the loop.  Null: it never ends.
  std::function<bool()> stop = {};

  // Called by rank 0 when it listens, with the port that was chosen.
  std::function<void(const Address&)> on_listening = {};

  bool measures_connections() const { return connections == kMeasuredConnections; }
};

// Returns the number of connections that are opened between two ranks: where it is measured how many to use, the
// most that are tried.  Large jobs open one, since the connections of a rank to all others fill its links.
inline int num_opened(const NetCommunicatorOptions& options) {
  constexpr int kMostTried = 4, kLargeJob = 17;
  if (!options.measures_connections()) return options.connections;
  return options.size < kLargeJob ? kMostTried : 1;
}

}  // namespace ps

#endif  // PS_COLLECTIVE_NET_OPTIONS_H_
