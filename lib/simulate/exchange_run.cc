#include "simulate/exchange_run.h"

#include <algorithm>

#include "base/error.h"
#include "collective/algorithms/entries.h"
#include "net/sim/event_queue.h"

namespace ps {

namespace {

// The times of one message.
struct MessageTimes {
  MessageTimes(const ClusterParameters& cluster, double bytes)
      : slot(message_slot(cluster, bytes)),
        on_the_way(cluster.latency + cluster.overhead * cluster.contention()),
        receiving((cluster.bandwidth > 0 ? bytes / cluster.bandwidth : 0) +
                  cluster.overhead * cluster.contention()) {}

  double whole() const { return on_the_way + receiving; }

  double slot;        // until the next message may follow, at the sender and at the receiver
  double on_the_way;  // from its start until its first byte arrives
  double receiving;   // from its first byte until it is there
};

using Clocks = std::vector<double>;

// Message number `index` of `sender` is ready at `time`.
struct SimulatedMessage {
  double time;
  uint32_t sender, index;

  bool before(const SimulatedMessage& other) const {
    return time < other.time || (time == other.time && sender < other.sender);
  }
};

// Sends a message from every sender to every receiver, one for each port.  A sender's messages go round the
// receivers, beginning at one of its own, so that they do not all meet at the first; a receiver takes them as
// they arrive.  Calls take(receiver, port, time) for each message.  The queue has the next message of every
// sender, ordered by its time: a receiver takes the earliest one when it has ended the one before.
template <class Ready, class Take>
void cross(const MessageTimes& message, size_t senders, size_t receivers, size_t ports, const Ready& ready,
           const Take& take) {
  Clocks receiver_free(receivers, 0);
  EventQueue<SimulatedMessage> queue;
  queue.reserve(senders);
  for (size_t s = 0; s < senders; ++s) queue.push({ready(s, 0), static_cast<uint32_t>(s), 0});
  while (!queue.empty()) {
    const SimulatedMessage event = queue.pop();
    const size_t port = event.index / receivers, receiver = (event.sender + event.index) % receivers;
    const double begin = std::max(event.time + message.on_the_way, receiver_free[receiver]);
    receiver_free[receiver] = begin + message.slot;
    take(receiver, port, begin + message.receiving);
    const uint32_t next = event.index + 1;
    if (next == receivers * ports) continue;
    queue.push(
        {std::max(event.time + message.slot, ready(event.sender, next / receivers)), event.sender, next});
  }
}

// The others send rank 0 their chunks, chunk by chunk, and slices of those of one number take turns on its
// link.  It adds one at a time, and sends a sum to all while later chunks come.
void run_rank_server(const ClusterParameters& cluster, const StepBytes& payload, Clocks& clocks) {
  const int64_t chunks = gradient_chunks(cluster, payload);
  const double bytes = payload.dense_bytes / static_cast<double>(chunks);
  const double add = work_seconds(cluster, bytes, cluster.sum_rate);
  const MessageTimes message(cluster, bytes);
  double in_free = 0, adder_free = clocks[0], out_free = 0;
  Clocks done = clocks;
  for (int64_t c = 0; c < chunks; ++c) {
    for (size_t r = 1; r < clocks.size(); ++r) {
      const double sent = clocks[r] + static_cast<double>(c) * message.slot;
      const double begin = std::max(sent + message.on_the_way, in_free);
      in_free = begin + message.slot;
      adder_free = std::max(begin + message.receiving, adder_free) + add;
    }
    for (size_t r = 1; r < clocks.size(); ++r) {
      const double begin = std::max(adder_free, out_free);
      out_free = begin + message.slot;
      done[r] = std::max(done[r], begin + message.whole());
    }
  }
  // Rank 0 has the sums without a message, but it is busy until its link has taken the last one.
  done[0] = std::max(done[0], out_free);
  clocks = std::move(done);
}

// Trainers send their parts to the shards; a shard begins to add when it has the last one, and sends the
// sum to all trainers.  A trainer sends its parts for the shards of a port to all servers at once, and
// slices of them take turns on its link: all of these parts have come when the last one has.
void run_server(const ClusterParameters& cluster, const StepBytes& payload, Clocks& clocks) {
  const size_t servers = static_cast<size_t>(cluster.servers), ports = static_cast<size_t>(cluster.ports);
  const double part = payload.dense_bytes / static_cast<double>(servers * ports);
  const MessageTimes message(cluster, part);
  Clocks shards(ports, 0);  // by port: when shards have all gradients, then their sum
  cross(
      message, clocks.size(), servers, ports, [&](size_t rank, size_t) { return clocks[rank]; },
      [&](size_t, size_t port, double time) { shards[port] = std::max(shards[port], time); });
  const double sum = work_seconds(cluster, static_cast<double>(cluster.ranks) * part, cluster.sum_rate);
  for (double& shard : shards) shard += sum;
  cross(
      message, servers, clocks.size(), ports, [&](size_t, size_t port) { return shards[port]; },
      [&](size_t rank, size_t, double time) { clocks[rank] = std::max(clocks[rank], time); });
}

// Returns true if all ranks are ready at once: then what one of them does, all do.
bool all_alike(const Clocks& clocks) {
  return std::all_of(clocks.begin(), clocks.end(), [&](double clock) { return clock == clocks.front(); });
}

// Every rank sends `bytes` to every other rank.  In round j it sends to the j-th rank after it, and receives
// from the j-th rank before it.
void all_to_all(const ClusterParameters& cluster, double bytes, Clocks& clocks) {
  const MessageTimes message(cluster, bytes);
  const size_t ranks = clocks.size(), followed = all_alike(clocks) ? 1 : ranks;
  Clocks free(ranks, 0), done = clocks;
  for (size_t round = 1; round < ranks; ++round) {
    const double sent = static_cast<double>(round - 1) * message.slot;
    for (size_t r = 0; r < followed; ++r) {
      const size_t from = r >= round ? r - round : r + ranks - round;
      const double begin = std::max(clocks[from] + sent + message.on_the_way, free[r]);
      free[r] = begin + message.slot;
      done[r] = std::max(done[r], begin + message.receiving);
    }
  }
  if (followed == 1) std::fill(done.begin(), done.end(), done.front());
  clocks = std::move(done);
}

void add_to_all(Clocks& clocks, double seconds) {
  for (double& clock : clocks) clock += seconds;
}

// With V = dense_bytes and N ranks, each rank sends V to each other one and adds N - 1 gradients; or it
// sends parts of V / N, adds N - 1 parts to its own, and sends the sum to each other rank.
void run_direct(const ClusterParameters& cluster, const StepBytes& payload, Clocks& clocks) {
  const double ranks = static_cast<double>(clocks.size()), part = payload.dense_bytes / ranks;
  if (direct_in_one_round(cluster, payload)) {
    all_to_all(cluster, payload.dense_bytes, clocks);
    return add_to_all(clocks, work_seconds(cluster, (ranks - 1) * payload.dense_bytes, cluster.sum_rate));
  }
  all_to_all(cluster, part, clocks);
  add_to_all(clocks, work_seconds(cluster, (ranks - 1) * part, cluster.sum_rate));
  all_to_all(cluster, part, clocks);
}

// Each rank packs its gradient, sends it to all others, and adds the packed gradients of all ranks, its own
// included.
void run_dgc(const ClusterParameters& cluster, const StepBytes& payload, Clocks& clocks) {
  add_to_all(clocks, work_seconds(cluster, payload.dense_bytes, cluster.encode_rate));
  all_to_all(cluster, payload.packed_bytes, clocks);
  add_to_all(clocks, work_seconds(cluster, static_cast<double>(clocks.size()) * payload.packed_bytes,
                                  cluster.decode_rate));
}

// Passes chunks from the first rank of `order` to the last one.  A rank sends a chunk on when it has the chunk
// and has sent the chunk before it, and adds to one chunk at a time, for `add` seconds each.  `has` moves along
// the chain: for the rank at hand it holds the time at which each chunk is complete there.
void pass_along(const ClusterParameters& cluster, double bytes, double add, const std::vector<size_t>& order,
                Clocks& has, Clocks& clocks) {
  const MessageTimes message(cluster, bytes);
  for (size_t hop = 1; hop < order.size(); ++hop) {
    double& clock = clocks[order[hop]];
    double link_free = 0, adder_free = clock;
    for (double& chunk : has) {
      const double begin = std::max(chunk, link_free);
      link_free = begin + message.slot;
      chunk = adder_free = std::max(begin + message.whole(), adder_free) + add;
    }
    clock = std::max(clock, has.back());
  }
}

// With more than two ranks, those in the middle send sums up and down over one link: the way down begins
// when the way up has ended, which takes as long as both at half the rate.
void run_chain(const ClusterParameters& cluster, const StepBytes& payload, Clocks& clocks) {
  const int64_t chunks = gradient_chunks(cluster, payload);
  const double bytes = payload.dense_bytes / static_cast<double>(chunks);
  std::vector<size_t> order(clocks.size());
  for (size_t r = 0; r < order.size(); ++r) order[r] = r;
  Clocks has(static_cast<size_t>(chunks), clocks.front());
  pass_along(cluster, bytes, work_seconds(cluster, bytes, cluster.sum_rate), order, has, clocks);
  // For two ranks `has` keeps the time of each chunk, so that sums come back while later chunks still go
  // up.
  if (clocks.size() > 2) has.assign(has.size(), clocks.back());
  std::reverse(order.begin(), order.end());
  pass_along(cluster, bytes, 0, order, has, clocks);
}

// When each chunk is complete at each rank.
using ChunkTimes = std::vector<Clocks>;

// Chunks go up: a rank gets those of one number from its children one after the other, the nearest child first, adds
// one at a time, and its parent gets the sum when it has that of the child before.  Children come before parents, since
// their numbers are higher.
void add_up_tree(const MessageTimes& message, double add, ChunkTimes& has) {
  const int ranks = static_cast<int>(has.size());
  for (int rank = ranks - 1; rank >= 0; --rank) {
    Clocks& own = has[static_cast<size_t>(rank)];
    const std::vector<int> children = tree_children(rank, ranks);
    double link_free = 0, adder_free = own.front();
    for (size_t c = 0; c < own.size(); ++c) {
      for (int child : children) {
        const double begin = std::max(has[static_cast<size_t>(child)][c], link_free);
        link_free = begin + message.slot;
        adder_free = std::max(begin + message.whole(), adder_free) + add;
      }
      own[c] = std::max(own[c], adder_free);
    }
  }
}

// Sums go down: a rank sends a chunk to its farthest child first.
void copy_down_tree(const MessageTimes& message, ChunkTimes& has) {
  const int ranks = static_cast<int>(has.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const Clocks& own = has[static_cast<size_t>(rank)];
    const std::vector<int> children = tree_children(rank, ranks);
    double link_free = 0;
    for (size_t c = 0; c < own.size(); ++c) {
      for (auto child = children.rbegin(); child != children.rend(); ++child) {
        const double begin = std::max(own[c], link_free);
        link_free = begin + message.slot;
        has[static_cast<size_t>(*child)][c] = begin + message.whole();
      }
    }
  }
}

// A rank has all chunks of its own gradient at its clock.  After the way up `has` holds the times of the
// subtrees' sums, and after the way down those of the whole sums, for every rank but the root, whose sums
// are whole already.
void run_tree(const ClusterParameters& cluster, const StepBytes& payload, Clocks& clocks) {
  const auto chunks = static_cast<size_t>(gradient_chunks(cluster, payload));
  const double bytes = payload.dense_bytes / static_cast<double>(chunks);
  const MessageTimes message(cluster, bytes);
  ChunkTimes has;
  for (double clock : clocks) has.emplace_back(chunks, clock);
  add_up_tree(message, work_seconds(cluster, bytes, cluster.sum_rate), has);
  copy_down_tree(message, has);
  for (size_t r = 0; r < clocks.size(); ++r) clocks[r] = has[r].back();
}

// In each of the 2 (N - 1) steps every rank receives a part from the rank before it.  In the first N - 1 steps
// it adds its own to the part; in the others it keeps the complete one.
void run_ring(const ClusterParameters& cluster, const StepBytes& payload, Clocks& clocks) {
  const double part = payload.dense_bytes / static_cast<double>(clocks.size());
  const double message = MessageTimes(cluster, part).whole();
  const double add = work_seconds(cluster, part, cluster.sum_rate);
  Clocks next(clocks.size());
  for (size_t step = 0; step < 2 * (clocks.size() - 1); ++step) {
    // A step begins for a rank when it and the rank before it have ended the step before.
    const double sum = step < clocks.size() - 1 ? add : 0;
    for (size_t r = 0; r < clocks.size(); ++r) {
      const size_t from = r > 0 ? r - 1 : clocks.size() - 1;
      next[r] = std::max(clocks[r], clocks[from]) + message + sum;
    }
    clocks.swap(next);
  }
}

// The two ranks of each pair at this distance, below `ranks`, give each other `bytes`, and add for `add`
// seconds.
void swap_with_partners(const ClusterParameters& cluster, double bytes, double add, size_t distance,
                        size_t ranks, Clocks& clocks) {
  const double message = MessageTimes(cluster, bytes).whole();
  for (size_t r = 0; r < ranks; ++r) {
    // The rank of a pair whose bit is clear handles the pair.
    if (r & distance) continue;
    clocks[r] = clocks[r + distance] = std::max(clocks[r], clocks[r + distance]) + message + add;
  }
}

// The ranks beyond the largest power of two first give their gradients to a partner within it.  The ranks
// within halve the bytes in each round, at doubled distances, until each has the sum of one part; then they
// gather the parts in the reverse order.  At the end the ranks beyond get the sum from their partners.
void run_halving_doubling(const ClusterParameters& cluster, const StepBytes& payload, Clocks& clocks) {
  const size_t inner = static_cast<size_t>(power_of_two_below(cluster.ranks));
  const double whole = MessageTimes(cluster, payload.dense_bytes).whole();
  auto add = [&](double bytes) { return work_seconds(cluster, bytes, cluster.sum_rate); };
  for (size_t r = inner; r < clocks.size(); ++r)
    clocks[r - inner] = std::max(clocks[r - inner], clocks[r] + whole) + add(payload.dense_bytes);
  double bytes = payload.dense_bytes;
  size_t distance = 1;
  for (; distance < inner; distance *= 2) {
    bytes /= 2;
    swap_with_partners(cluster, bytes, add(bytes), distance, inner, clocks);
  }
  // Here `distance` is `inner` and `bytes` the size of a part; both go through the values of the first loop
  // backwards.
  for (; distance > 1; bytes *= 2) {
    distance /= 2;
    swap_with_partners(cluster, bytes, 0, distance, inner, clocks);
  }
  for (size_t r = inner; r < clocks.size(); ++r) clocks[r] = std::max(clocks[r], clocks[r - inner] + whole);
}

}  // namespace

// Each exchange goes through its messages on links of the bandwidth that the formulas use too, so that both
// can agree.
void run_exchange(ExchangeKind exchange, const ClusterParameters& parameters, const StepBytes& payload,
                  std::vector<double>& clocks) {
  PS_CHECK(static_cast<int64_t>(clocks.size()) == parameters.ranks);
  if (clocks.size() < 2) return;
  const ClusterParameters cluster = with_exchange_bandwidth(exchange, parameters);
  switch (exchange) {
    case ExchangeKind::kServer:
      return cluster.servers == 0 ? run_rank_server(cluster, payload, clocks)
                                  : run_server(cluster, payload, clocks);
    case ExchangeKind::kDirect:
      return run_direct(cluster, payload, clocks);
    case ExchangeKind::kChain:
      return run_chain(cluster, payload, clocks);
    case ExchangeKind::kTree:
      return run_tree(cluster, payload, clocks);
    case ExchangeKind::kRing:
      return run_ring(cluster, payload, clocks);
    case ExchangeKind::kHalvingDoubling:
      return run_halving_doubling(cluster, payload, clocks);
    case ExchangeKind::kDgc:
      return run_dgc(cluster, payload, clocks);
  }
}

}  // namespace ps
