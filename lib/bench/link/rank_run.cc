#include "bench/link/rank_run.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "bench/meeting_point.h"
#include "collective/net_communicator.h"
#include "net/network.h"

namespace ps {

namespace {

// The state that the threads of all ranks share.  Only `point` changes after construction.
struct Meeting {
  const RankLinks& links;
  int ranks;
  Duration timeout;
  const NetworkBody& body;
  MeetingPoint point = {};
};

// Runs one rank on its own thread.  The thread enters the link first, since sockets belong to the namespace
// in which they are opened.  Rank 0 listens at a port that the system chooses, and tells the others at the
// meeting point.
void run_rank(Meeting& meeting, int rank) {
  meeting.links.enter(rank);
  const std::unique_ptr<Transport> network = make_network();
  ShapedTransport shaped(*network, meeting.links.shape());
  NetCommunicatorOptions options;
  options.rank = rank, options.size = meeting.ranks;
  options.job = "ps-bench";
  options.timeout = meeting.timeout;
  options.listen = {meeting.links.host(rank), 0};
  options.rendezvous = rank == 0 ? options.listen : meeting.point.wait();
  options.on_listening = [&](const Address& address) { meeting.point.set(address); };
  const auto communicator = make_net_communicator(shaped, options);
  meeting.body(*communicator, shaped);
}

// Returns true for the error of a rank whose peer has gone: it is reported only if there is no other.
bool is_consequence(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.code() == Code::kUnavailable;
  } catch (...) {
    return false;
  }
}

double median_of_three(const std::function<double()>& measure) {
  return median({measure(), measure(), measure()});
}

// Returns the bits a second of a link, while so many ranks send the same amount to each other rank.  If all do, all
// links are full in both directions; if only rank 0 does, only its link is, in one direction.
double probe_bandwidth(ExchangeCommunicator& communicator, double nominal, int senders) {
  constexpr double kSeconds = 0.1, kLeast = 64 << 10, kMost = 32 << 20;
  const int others = communicator.size() - 1;
  const double bytes = std::clamp(nominal / 8 * kSeconds, kLeast, kMost) / others;
  const size_t count = static_cast<size_t>(bytes / sizeof(float));
  std::vector<size_t> counts(static_cast<size_t>(communicator.size()), 0);
  std::fill_n(counts.begin(), senders, count);
  std::vector<float> data(count * static_cast<size_t>(senders));
  const auto seconds = [&] {
    communicator.barrier();
    const double begin = monotonic_seconds();
    communicator.all_gather(data, counts);
    communicator.barrier();
    return monotonic_seconds() - begin;
  };
  seconds();  // first round is not timed, since new connections are slow
  return 8.0 * static_cast<double>(count * sizeof(float)) * others / median_of_three(seconds);
}

// Returns the bits a second of a link while each rank sends to the next one, so that one connection alone fills each
// direction: several into a link at once divide it unevenly, and the slowest would be measured.
double probe_neighbours(ExchangeCommunicator& communicator, double nominal) {
  constexpr double kSeconds = 0.1, kLeast = 64 << 10, kMost = 32 << 20;
  const size_t size = static_cast<size_t>(communicator.size());
  const size_t next = (static_cast<size_t>(communicator.rank()) + 1) % size;
  std::vector<std::string> messages(size);
  messages[next].resize(static_cast<size_t>(std::clamp(nominal / 8 * kSeconds, kLeast, kMost)));
  const auto seconds = [&] {
    communicator.barrier();
    const double begin = monotonic_seconds();
    communicator.all_to_all(messages);
    communicator.barrier();
    return monotonic_seconds() - begin;
  };
  seconds();
  return 8.0 * static_cast<double>(messages[next].size()) / median_of_three(seconds);
}

// A barrier takes ceil(log2(ranks)) rounds of small messages, one after the other, so its time divided by
// them is that of a message.  The median leaves out barriers that another process has held up.
double probe_latency(ExchangeCommunicator& communicator) {
  constexpr int kBarriers = 30;
  const double rounds = std::ceil(std::log2(communicator.size()));
  std::vector<double> seconds;
  for (int i = 0; i < kBarriers; ++i) {
    const double begin = monotonic_seconds();
    communicator.barrier();
    seconds.push_back((monotonic_seconds() - begin) / rounds);
  }
  return median(seconds);
}

// All ranks add 16 MB at the same time, after a barrier: cores and memory are shared as in an exchange.
double probe_sums(ExchangeCommunicator& communicator) {
  std::vector<float> into(4 << 20), other(into.size());
  const double seconds = median_of_three([&] {
    communicator.barrier();
    const double begin = monotonic_seconds();
    add_elements(into, Elements(other).bytes());
    return monotonic_seconds() - begin;
  });
  return static_cast<double>(into.size() * sizeof(float)) / seconds;
}

}  // namespace

// If rank 0 fails before it listens, it gives up the meeting point, since the others would wait there for
// ever.  Once they are connected, a rank that ends breaks its connections, by which the others end too.
void run_ranks(const RankLinks& links, int ranks, Duration timeout, const NetworkBody& body) {
  Meeting meeting{links, ranks, timeout, body};
  std::vector<std::exception_ptr> errors(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        run_rank(meeting, rank);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
        if (rank == 0) meeting.point.give_up(std::current_exception());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::erase(errors, nullptr);
  if (errors.empty()) return;
  const auto cause = std::ranges::find_if_not(errors, is_consequence);
  std::rethrow_exception(cause != errors.end() ? *cause : errors.front());
}

void run_ranks(const RankLinks& links, int ranks, Duration timeout, const RankBody& body) {
  const NetworkBody with_network = [&](ExchangeCommunicator& communicator, Transport&) {
    body(communicator);
  };
  run_ranks(links, ranks, timeout, with_network);
}

// Takes the better of two patterns, since each is held up by something that is no limit of the links: many
// senders into one link divide it unevenly, and a single connection may not fill it.
LinkProbe probe_links(ExchangeCommunicator& communicator, double nominal_bits_per_second) {
  LinkProbe probe;
  probe.bits_per_second =
      std::max(probe_bandwidth(communicator, nominal_bits_per_second, communicator.size()),
               probe_neighbours(communicator, nominal_bits_per_second));
  probe.lone_bits_per_second = probe_bandwidth(communicator, nominal_bits_per_second, 1);
  probe.latency_seconds = probe_latency(communicator);
  probe.sum_rate = probe_sums(communicator);
  return probe;
}

}  // namespace ps
