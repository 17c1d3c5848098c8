// Functions by which the trainers of a job meet.  Used by strategies without servers and by hybrid, and by
// the job, which sets the options.
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
  bool mpi = false;   // they are the processes that mpirun has started; addresses are not used
  bool nccl = false;  // they meet over the network, and add up by NCCL, in the memory of their devices
  std::vector<Address> peers;  // the address at which trainer 0 listens; or one for each trainer
  int rank = 0, size = 1;
  int connections = 1;                           // over the network, between each two
  uint64_t nonce = 1;                            // differs from run to run
  std::string name;                              // name of the job
  std::string nccl_library;                      // with nccl: as load_nccl takes it
  std::shared_ptr<NcclDevice> device = nullptr;  // with nccl: the device that computes the model
  Json job;                      // the parts of the job and of the command line that must be equal
  bool model_on_device = false;  // a device computes the model of this trainer
  Duration join_timeout = std::chrono::seconds(60);  // time until all have come
  Duration timeout = std::chrono::seconds(60);  // time without a sign of life of a trainer that is waited for
};

// Trainers that have met, and if a device computes the model of any of them.
struct MetPeers {
  std::unique_ptr<Communicator> communicator;
  bool model_on_device;
};

// Throws kUsage unless the number of addresses lets the trainers meet.
void check_peers(const PeerOptions& options);

// Waits until all have come, and until the measurements for an automatic choice are done.  `algorithm` is a
// name of all_reduce_catalog() or kAutomatic.  Throws kUnavailable, naming the trainers that have not come or
// are gone; throws kUsage on all trainers if one of them has another job, naming the first key that differs.
MetPeers meet_peers(Transport& transport, const PeerOptions& options, const std::string& algorithm);

// Makes another communicator among the trainers that have met in `met` over the network, at free ports, for
// work beside the training.  `stop` is as in NetCommunicatorOptions.  Throws kUnavailable.
std::unique_ptr<Communicator> meet_again(Transport& transport, const PeerOptions& options, Communicator& met,
                                         std::function<bool()> stop);

// Returns the bytes that this trainer has sent to the others since they met; 0 under MPI, which does not
// tell.
uint64_t bytes_sent_to_all(const Communicator& communicator);

// algorithm_names returns the names of the algorithms by which trainers may add, the automatic choice first;
// kAlgorithmHelp is the help of such a key.
std::vector<std::string> algorithm_names();
inline constexpr const char* kAlgorithmHelp =
    "how gradients are added up; auto: the fastest, as measured, of those that add in the order of trainers, "
    "direct, chain and server, which give the bits of servers";

// Returns, on every trainer, which trainer has another job than trainer 0 and what differs; nothing if all
// have the same.
std::optional<std::string> find_other_job(Communicator& communicator, const Json& job);

}  // namespace ps

#endif  // PS_STRATEGY_PEERS_H_
