#include "strategy/peers.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "collective/algorithm.h"
#include "collective/exchange_communicator.h"
#include "collective/mpi_communicator.h"
#include "collective/nccl_communicator.h"
#include "collective/net_communicator.h"
#include "ps/wire/hello.h"

namespace ps {

namespace {

// Takes the ranks of MPI, which must be those of the job: a trainer that MPI numbers otherwise would read
// the data of another.
std::unique_ptr<Communicator> meet_by_mpi(const PeerOptions& options, const std::string& algorithm) {
  if (algorithm != kAutomatic) {
    fail(Code::kUsage, "train.strategy.algorithm: ", quote(algorithm),
         ", but with cluster.collective mpi the algorithm is MPI's affair: leave it out");
  }
  if (options.connections > 1) {
    fail(Code::kUsage, "cluster.connections: ", options.connections,
         ", but with cluster.collective mpi connections are MPI's affair: leave it out");
  }
  std::unique_ptr<Communicator> world = make_mpi_communicator();
  if (world->rank() != options.rank || world->size() != options.size) {
    fail(Code::kUsage, "this is process ", world->rank(), " of ", world->size(), " to MPI, but trainer ",
         options.rank, " of ", options.size, ": have mpirun start the trainers alone, without --rank");
  }
  return world;
}

// Trainers with NCCL and trainers without have different fingerprints, and so refuse to meet.  They are
// patient, since a trainer may read data or save a model for longer than the timeout.
NetCommunicatorOptions net_options(const PeerOptions& options) {
  const size_t rank = static_cast<size_t>(options.rank);
  // Trainers that only meet on this machine must not be reachable from other machines.
  const std::string own_machine = is_loopback(options.peers[0].host) ? options.peers[0].host : "";
  return {.rank = options.rank,
          .size = options.size,
          .rendezvous = options.peers[0],
          .listen = options.peers.size() > 1 ? options.peers[rank] : Address{own_machine, 0},
          .job = options.name,
          .fingerprint = options.nccl ? 1u : 0u,
          .connections = options.connections,
          .nonce = options.nonce,
          .join_timeout = options.join_timeout,
          .timeout = options.timeout,
          .patient = true};
}

std::unique_ptr<Communicator> meet_by_net(Transport& transport, const PeerOptions& options,
                                          const std::string& algorithm) {
  NetCommunicatorOptions net = net_options(options);
  net.algorithm = algorithm;
  return make_net_communicator(transport, net);
}

// Meets over the network first, since NCCL needs a way to bring its ranks together.  While a trainer waits
// for NCCL, run_loop serves those connections, so that the others know that it lives.
std::unique_ptr<Communicator> meet_by_nccl(Transport& transport, const PeerOptions& options,
                                           const std::string& algorithm) {
  if (algorithm != kAutomatic) {
    fail(Code::kUsage, "train.strategy.algorithm: ", quote(algorithm),
         ", but with cluster.collective nccl the algorithm is NCCL's affair: leave it out");
  }
  PS_CHECK(options.device != nullptr);
  PeerOptions net = options;  // it carries nothing large
  if (net.connections == kMeasuredConnections) net.connections = 1;
  return make_nccl_communicator(meet_by_net(transport, net, algorithm), options.device,
                                {.library = options.nccl_library,
                                 .timeout = options.timeout,
                                 .run_loop = [&transport] { transport.loop().poll(); }});
}

std::unique_ptr<Communicator> meet(Transport& transport, const PeerOptions& options,
                                   const std::string& algorithm) {
  if (options.mpi) return meet_by_mpi(options, algorithm);
  if (options.nccl) return meet_by_nccl(transport, options, algorithm);
  return meet_by_net(transport, options, algorithm);
}

}  // namespace

void check_peers(const PeerOptions& options) {
  const size_t num = options.peers.size();
  if (options.mpi || num == 1 || num == static_cast<size_t>(options.size)) return;
  if (num == 0) {
    fail(Code::kUsage, options.size, " trainers without servers have to meet: give --peers HOST:PORT, where ",
         "trainer 0 is to listen, or --collective mpi under mpirun");
  }
  fail(Code::kUsage, "cluster.peers: ", num, " addresses of ", options.size,
       " trainers: name that of trainer 0, or one for each");
}

// Meets first and compares the jobs then, over the connections, so that every trainer learns which one
// differs.
MetPeers meet_peers(Transport& transport, const PeerOptions& options, const std::string& algorithm) {
  check_peers(options);
  std::unique_ptr<Communicator> communicator = meet(transport, options, algorithm);
  if (const std::optional<std::string> difference = find_other_job(*communicator, options.job)) {
    // Ends without an exception, which would make this rank dead to those that still wait for others.
    communicator.reset();
    fail(Code::kUsage, *difference);
  }
  // The first all-reduce measures, if the algorithm is chosen automatically.
  std::vector<float> on_devices = {options.model_on_device ? 1.0f : 0.0f};
  communicator->all_reduce(on_devices);
  return {std::move(communicator), on_devices[0] > 0};
}

// Trainer 0 tells the others the port at which it listens.
std::unique_ptr<Communicator> meet_again(Transport& transport, const PeerOptions& options, Communicator& met,
                                         std::function<bool()> stop) {
  NetCommunicatorOptions net = net_options(options);
  net.listen.port = net.rendezvous.port = 0;
  net.stop = std::move(stop);
  if (net.measures_connections()) net.connections = met.connections();  // they were measured
  if (options.rank == 0) {
    net.on_listening = [&met](const Address& address) { met.gather(std::to_string(address.port)); };
  } else {
    net.rendezvous.port = static_cast<uint16_t>(parse_int(met.gather("")[0]).value_or(0));
  }
  return make_net_communicator(transport, net);
}

uint64_t bytes_sent_to_all(const Communicator& communicator) {
  uint64_t bytes = 0;
  for (int to = 0; to < communicator.size(); ++to) bytes += communicator.bytes_sent(to);
  return bytes;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = {kAutomatic};
  for (const AllReduceAlgorithm* each : all_reduce_catalog()) names.push_back(each->name);
  return names;
}

// Every trainer compares the jobs of all with that of trainer 0, so that all trainers end.
std::optional<std::string> find_other_job(Communicator& communicator, const Json& job) {
  const std::vector<std::string> jobs = communicator.gather(job.dump());
  const Json first = parse_json(jobs[0], "the job of trainer 0");
  for (size_t rank = 1; rank < jobs.size(); ++rank) {
    if (jobs[rank] == jobs[0]) continue;
    const Json other = parse_json(jobs[rank], cat("the job of trainer ", rank));
    const std::string difference = first_difference(other, first, "").value_or("its layout differs");
    return cat("trainer ", rank, " has another job than trainer 0: ", difference);
  }
  return std::nullopt;
}

}  // namespace ps
