// How the trainers of a job meet.  Used by strategies without servers and by hybrid, and by the job, which says it.
#ifndef PS_STRATEGY_PEERS_H_
#define PS_STRATEGY_PEERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "config/json.h"
#include "net/transport.h"

namespace ps {

class NcclDevice;

struct PeerOptions {
  bool mpi = false;   // they are the processes that mpirun has started; addresses are of no use then
  bool nccl = false;  // they meet over the network, and add up by NCCL, in the memory of their devices
  std::vector<Address> peers;  // where trainer 0 listens; or where each of them does
  int rank = 0, size = 1;
  uint64_t nonce = 1;                            // differs from run to run
  std::string name;                              // of the job
  std::string nccl_library;                      // with nccl: as load_nccl takes it
  std::shared_ptr<NcclDevice> device = nullptr;  // with nccl: that which computes the model
  Json job;  // the parts of it that must be equal, and of the command line
  Duration join_timeout = std::chrono::seconds(60);  // until all have come
  Duration timeout = std::chrono::seconds(60);       // without a sign of life of one that is waited for
};

// Throws kUsage unless there are so many addresses that trainers can meet.
void check_peers(const PeerOptions& options);

// Waits until all have come, and has measured what an automatic choice needs.  `algorithm` is a name of all_reduce_catalog() or kAutomatic.  Throws kUnavailable, naming
// the trainers that have not come or are gone, and on all trainers kUsage when one of them has another job, naming the
// first key that differs.
std::unique_ptr<Communicator> meet_peers(Transport& transport, const PeerOptions& options,
                                         const std::string& algorithm);

// Another communicator among the trainers that have met in `met` over the network, at ports that are free: for what goes on
// beside the training.  `stop` as in NetCommunicatorOptions.  Throws kUnavailable.
std::unique_ptr<Communicator> meet_again(Transport& transport, const PeerOptions& options, Communicator& met,
                                         std::function<bool()> stop);

// The bytes that this trainer has sent to the others since they met; 0 under MPI, which does not say.
uint64_t bytes_sent_to_all(const Communicator& communicator);

// The names of the algorithms that trainers may add by, the automatic choice first, and the help of such a key.
std::vector<std::string> algorithm_names();
inline constexpr const char* kAlgorithmHelp =
    "how gradients are added up; auto: the fastest, as measured, of those that add in the order of trainers, "
    "direct and chain, which give the bits of servers";

// Says which trainer has another job than trainer 0, and what differs, on every trainer; nothing when all have the same.
std::optional<std::string> find_other_job(Communicator& communicator, const Json& job);

}  // namespace ps

#endif  // PS_STRATEGY_PEERS_H_
