// Shared by the tests of collectives: runs all ranks of a job at once, as threads that share memory, as
// threads over loopback TCP, or as hosts of a simulated network; and computes sums in rank order to compare
// with.
#ifndef PS_TESTS_UNIT_COLLECTIVE_RANKS_H_
#define PS_TESTS_UNIT_COLLECTIVE_RANKS_H_

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "collective/net_communicator.h"
#include "net/network.h"
#include "net/shaped_transport.h"
#include "net/sim/sim_network.h"
#include "support/thread_communicator.h"

namespace ps {

using namespace std::chrono_literals;

using RankBody = std::function<void(ExchangeCommunicator& communicator)>;

// The error of each rank; nullopt if it succeeded.
using RankErrors = std::vector<std::optional<Error>>;

inline std::optional<Error> error_of(const std::function<void()>& body) {
  try {
    body();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

inline RankErrors run_threads(int size, const std::function<void(int rank)>& body) {
  RankErrors errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] { errors[static_cast<size_t>(rank)] = error_of([&] { body(rank); }); });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline RankErrors run_shared(int size, const std::string& algorithm, const RankBody& body) {
  auto communicators = make_thread_communicators({.size = size, .algorithm = algorithm});
  return run_threads(size, [&](int rank) {
    const auto own = std::move(communicators[static_cast<size_t>(rank)]);
    body(*own);
  });
}

inline RankErrors run_tcp_over(const LinkShape& link, int size, const std::string& algorithm,
                               const RankBody& body, int connections = 1) {
  std::promise<Address> listening;
  std::shared_future<Address> where = listening.get_future().share();
  return run_threads(size, [&](int rank) {
    const std::unique_ptr<Transport> network = make_network();
    NetCommunicatorOptions options;
    options.rank = rank, options.size = size;
    options.listen = {"127.0.0.1", 0};
    options.algorithm = algorithm;
    options.connections = connections;
    options.rendezvous = rank == 0 || size == 1 ? Address{"127.0.0.1", 0} : where.get();
    options.on_listening = [&](const Address& address) { listening.set_value(address); };
    ShapedTransport shaped(*network, link);
    const auto communicator = make_net_communicator(shaped, options);
    body(*communicator);
  });
}

inline RankErrors run_tcp(int size, const std::string& algorithm, const RankBody& body) {
  return run_tcp_over({}, size, algorithm, body);
}

// Ranks as processes of a simulated network's hosts "rank0", "rank1", ...  The test may break what it likes.
class SimRanks {
 public:
  explicit SimRanks(int size, uint64_t seed = 1) : network(seed), errors(static_cast<size_t>(size)) {
    options.size = size;
    options.rendezvous = {"rank0", 7000};
    for (int rank = 0; rank < size; ++rank) hosts.push_back(&network.host(cat("rank", rank)));
  }

  SimHost& host(int rank) { return *hosts[static_cast<size_t>(rank)]; }

  // The rank begins at the next event.
  void start(int rank, const RankBody& body) {
    NetCommunicatorOptions own = options;
    own.rank = rank;
    start(own, body);
  }

  void start(const NetCommunicatorOptions& own, const RankBody& body) {
    host(own.rank).spawn([this, own, body] {
      errors[static_cast<size_t>(own.rank)] = error_of([&] {
        ShapedTransport shaped(host(own.rank), link);
        const auto communicator = make_net_communicator(shaped, own);
        body(*communicator);
      });
      ended_at[own.rank] = network.now();
    });
  }

  void start_all(const RankBody& body) {
    for (int rank = 0; rank < options.size; ++rank) start(rank, body);
  }

  // Runs until so many ranks have ended; false when they do not in an hour.
  bool run_until_ended(size_t count) {
    return network.run_until([&] { return ended_at.size() >= count; }, network.now() + 3600s);
  }

  NetCommunicatorOptions options;
  LinkShape link;  // of every rank
  SimNetwork network;
  std::vector<SimHost*> hosts;
  RankErrors errors;
  std::map<int, Time> ended_at;
};

inline RankErrors run_simulated_over(const SimLink& link, int size, const std::string& algorithm,
                                     const RankBody& body, int connections = 1) {
  SimRanks ranks(size);
  ranks.network.set_default_link(link);
  ranks.options.connections = connections;
  ranks.options.algorithm = algorithm;
  ranks.start_all(body);
  if (!ranks.run_until_ended(static_cast<size_t>(size))) {
    ranks.errors[0] = Error(Code::kInternal, "ranks hang");
  }
  return ranks.errors;
}

inline RankErrors run_simulated(int size, const std::string& algorithm, const RankBody& body) {
  return run_simulated_over({}, size, algorithm, body);
}

// Numbers of a rank: floats of many magnitudes, so that every order of sums has its own bits.
inline std::vector<float> rank_floats(uint64_t seed, int rank, size_t count) {
  constexpr float kScales[] = {1, 1e-1f, 1e-2f, 1e-3f};
  Random random(seed, static_cast<uint64_t>(rank));
  std::vector<float> values(count);
  for (float& value : values) {
    const uint32_t bits = random.next32();
    value = (unit_float(bits) - 0.5f) * kScales[bits & 3];
  }
  return values;
}

// ((x0 + x1) + x2) + ...
inline std::vector<float> sum_in_rank_order(uint64_t seed, int size, size_t count) {
  std::vector<float> sum = rank_floats(seed, 0, count);
  for (int rank = 1; rank < size; ++rank) {
    const std::vector<float> term = rank_floats(seed, rank, count);
    for (size_t i = 0; i < count; ++i) sum[i] += term[i];
  }
  return sum;
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_COLLECTIVE_RANKS_H_
