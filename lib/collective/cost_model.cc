#include "collective/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace ps {

double ClusterParameters::contention() const {
  if (cores == 0) return 1;
  return std::max(1.0, static_cast<double>(processes) / static_cast<double>(cores));
}

ExchangeCost& ExchangeCost::operator+=(const ExchangeCost& other) {
  latency += other.latency;
  overhead += other.overhead;
  transfer += other.transfer;
  sum += other.sum;
  codec += other.codec;
  return *this;
}

double work_seconds(const ClusterParameters& cluster, double bytes, double rate) {
  return rate > 0 ? bytes / rate * cluster.contention() : 0;
}

int64_t tree_rounds(int64_t ranks) {
  int64_t rounds = 0;
  while (int64_t{1} << rounds < ranks) ++rounds;
  return rounds;
}

int64_t power_of_two_below(int64_t ranks) {
  const int64_t rounds = tree_rounds(ranks);
  return int64_t{1} << rounds == ranks ? ranks : int64_t{1} << (rounds - 1);
}

static double transfer_seconds(const ClusterParameters& cluster, double bytes) {
  return cluster.bandwidth > 0 ? bytes / cluster.bandwidth : 0;
}

static double overhead_seconds(const ClusterParameters& cluster) {
  return cluster.overhead * cluster.contention();
}

double message_slot(const ClusterParameters& cluster, double bytes) {
  return std::max({cluster.gap, overhead_seconds(cluster), transfer_seconds(cluster, bytes)});
}

// The cost of `count` messages of `bytes` through one link, until the last one is received.
static ExchangeCost burst(const ClusterParameters& cluster, double count, double bytes) {
  // The total is L + 2 o + count n G, and (count - 1) times the time by which g or o holds a message up
  // beyond n G.
  const double transfer = transfer_seconds(cluster, bytes);
  const double held_up = message_slot(cluster, bytes) - transfer;
  ExchangeCost cost;
  cost.latency = cluster.latency;
  cost.overhead = 2 * overhead_seconds(cluster) + (count - 1) * held_up;
  cost.transfer = count * transfer;
  return cost;
}

static ExchangeCost sum_of(const ClusterParameters& cluster, double bytes) {
  ExchangeCost cost;
  cost.sum = work_seconds(cluster, bytes, cluster.sum_rate);
  return cost;
}

static ExchangeCost times(double count, ExchangeCost cost) {
  return {count * cost.latency, count * cost.overhead, count * cost.transfer, count * cost.sum,
          count * cost.codec};
}

// Returns the larger cost, which is the time until two things that go on at once have both ended.
static const ExchangeCost& later(const ExchangeCost& a, const ExchangeCost& b) {
  return a.total() < b.total() ? b : a;
}

// The time of a message, of adding it, and of each further message through one link.
struct ChunkCosts {
  ExchangeCost message, add, further;
};

static ChunkCosts chunk_costs(const ClusterParameters& cluster, double bytes) {
  ChunkCosts costs = {burst(cluster, 1, bytes), sum_of(cluster, bytes), {}};
  // The parts of `further` add up to one message_slot.
  costs.further.transfer = transfer_seconds(cluster, bytes);
  costs.further.overhead = message_slot(cluster, bytes) - costs.further.transfer;
  return costs;
}

int64_t gradient_chunks(const ClusterParameters& cluster, const StepBytes& payload) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(payload.dense_bytes / cluster.chunk_bytes)));
}

// The others send rank 0 their chunks, which it adds as they come, and each sum goes out while later chunks
// come in.  Its link carries (W - 1) V each way, which FireCaffe reckons for a parameter server of W - 1 clients;
// the way out ends one chunk after the way in.
static ExchangeCost rank_server_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const double others = static_cast<double>(cluster.ranks - 1);
  const double chunks = static_cast<double>(gradient_chunks(cluster, payload));
  const ChunkCosts chunk = chunk_costs(cluster, payload.dense_bytes / chunks);
  // The first chunk comes in and is added.  For each of the others * chunks - 1 chunks that follow, the
  // slower of the link and the adder counts.  At the end the last sum goes out to all others.
  ExchangeCost cost = chunk.message;
  cost += chunk.add;
  cost += times(others * chunks - 1, later(chunk.further, chunk.add));
  cost += chunk.message;
  cost += times(others - 1, chunk.further);
  return cost;
}

// Each trainer sends each shard its part, the parts for the first ports first.  A shard adds when it has all
// parts, and answers all trainers.  The busiest link carries max(ranks, servers) messages a port each way, and
// answers of all ports but the last while parts of later ports still come.
static ExchangeCost server_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  if (cluster.servers == 0) return rank_server_cost(cluster, payload);
  const double shards = static_cast<double>(cluster.servers * cluster.ports);
  const double part = payload.dense_bytes / shards;
  const double messages = static_cast<double>(std::max(cluster.ranks, cluster.servers));
  ExchangeCost cost = burst(cluster, static_cast<double>(cluster.ports) * messages, part);
  cost += burst(cluster, messages, part);
  cost += sum_of(cluster, static_cast<double>(cluster.ranks) * part);
  return cost;
}

bool direct_in_one_round(const ClusterParameters& cluster, const StepBytes& payload) {
  return static_cast<double>(cluster.ranks - 1) * payload.dense_bytes <= cluster.one_round_bytes;
}

// Each rank owns a part: all others send it theirs, it adds them, and it sends the sum to all.  A small
// gradient is sent whole to all ranks instead.
static ExchangeCost direct_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const double others = static_cast<double>(cluster.ranks - 1);
  if (direct_in_one_round(cluster, payload)) {
    ExchangeCost cost = burst(cluster, others, payload.dense_bytes);
    cost += sum_of(cluster, others * payload.dense_bytes);
    return cost;
  }
  const double part = payload.dense_bytes / static_cast<double>(cluster.ranks);
  ExchangeCost cost = times(2, burst(cluster, others, part));
  cost += sum_of(cluster, others * part);
  return cost;
}

// Chunks go from rank to rank, each adding its own; the last rank's sums go back.  A pipeline of ranks - 1
// stages takes one chunk through all of them, and for each further chunk the time of the slowest.  A rank in the
// middle sends each chunk twice, up and down; of two ranks each sends it once.
static ExchangeCost chain_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const double chunks = static_cast<double>(gradient_chunks(cluster, payload));
  const double stages = static_cast<double>(cluster.ranks - 1);
  const ChunkCosts chunk = chunk_costs(cluster, payload.dense_bytes / chunks);
  ExchangeCost cost = times(2 * stages, chunk.message);
  cost += times(stages, chunk.add);
  if (cluster.ranks > 2) cost += times(chunks - 1, chunk.further);
  cost += times(chunks - 1, later(chunk.further, chunk.add));
  return cost;
}

// Returns the time until the root of a tree of so many ranks has the sum of the first chunk.  Its children
// have 1, 2, 4, … ranks below them, themselves included, and the last child has the rest; they send one
// after the other, each when it has its own sum.
static ExchangeCost first_sum(int64_t ranks, const ChunkCosts& chunk) {
  if (ranks == 1) return {};
  const int64_t others = tree_rounds(ranks) - 1;  // children before the last
  ExchangeCost child = chunk.message;
  child += chunk.add;
  ExchangeCost cost = first_sum(ranks - (int64_t{1} << others), chunk);
  if (others > 0) {
    ExchangeCost link_free = times(static_cast<double>(others - 1), child);
    link_free += chunk.further;
    cost = later(cost, link_free);
  }
  cost += chunk.message;
  cost = later(cost, times(static_cast<double>(others), child));
  cost += chunk.add;
  return cost;
}

// Returns the time in which a chunk gets from the root to all ranks.  The root sends it to its last child
// first, and then to the child before, which may have more ranks below it.
static ExchangeCost last_copy(int64_t ranks, const ChunkCosts& chunk) {
  if (ranks == 1) return {};
  const int64_t others = tree_rounds(ranks) - 1;
  ExchangeCost cost = last_copy(ranks - (int64_t{1} << others), chunk);
  cost += chunk.message;
  if (others == 0) return cost;
  ExchangeCost second = times(static_cast<double>(others), chunk.message);
  second += chunk.further;
  return later(cost, second);
}

// A binomial tree: each rank adds the chunks of its children to its own and sends the sums to its parent, and the sums
// of the root go back the same way, chunk by chunk.  The link of the root carries all chunks of its log2(ranks)
// children, each way.
static ExchangeCost tree_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const double chunks = static_cast<double>(gradient_chunks(cluster, payload));
  const ChunkCosts chunk = chunk_costs(cluster, payload.dense_bytes / chunks);
  const double children = static_cast<double>(tree_rounds(cluster.ranks));
  ExchangeCost cost = first_sum(cluster.ranks, chunk);
  cost += times((chunks - 1) * children, later(chunk.further, chunk.add));
  cost += last_copy(cluster.ranks, chunk);
  return cost;
}

// In each of 2 (N - 1) steps every rank sends a part of V / N bytes to the next rank; in the first N - 1 of
// them it adds the part that it receives.  A step waits for the one before, so each pays the latency.
static ExchangeCost ring_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const double steps = static_cast<double>(cluster.ranks - 1);
  const double part = payload.dense_bytes / static_cast<double>(cluster.ranks);
  ExchangeCost cost = times(2 * steps, burst(cluster, 1, part));
  cost += sum_of(cluster, steps * part);
  return cost;
}

// Partners at distance 1, 2, 4 … exchange halves of the data that they still add, and then double the data that
// they have.  Ranks beyond a power of two first give all their data to a partner, and get the sum at the end.
static ExchangeCost halving_doubling_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const int64_t inner = power_of_two_below(cluster.ranks);
  ExchangeCost cost;
  double bytes = payload.dense_bytes;
  // Each number of bytes is sent twice, on the way down when it is added and on the way back when it is
  // gathered.
  for (int64_t left = inner; left > 1; left /= 2) {
    bytes /= 2;
    cost += times(2, burst(cluster, 1, bytes));
    cost += sum_of(cluster, bytes);
  }
  if (inner == cluster.ranks) return cost;
  cost += times(2, burst(cluster, 1, payload.dense_bytes));
  cost += sum_of(cluster, payload.dense_bytes);
  return cost;
}

// Each rank packs its gradient and sends it to all others, and each rank adds all packed gradients.
static ExchangeCost dgc_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  ExchangeCost cost = burst(cluster, static_cast<double>(cluster.ranks - 1), payload.packed_bytes);
  cost.codec =
      work_seconds(cluster, payload.dense_bytes, cluster.encode_rate) +
      work_seconds(cluster, static_cast<double>(cluster.ranks) * payload.packed_bytes, cluster.decode_rate);
  return cost;
}

std::span<const ExchangeEntry> exchange_catalog() {
  static constexpr std::array<ExchangeEntry, 7> kCatalog = {{
      {ExchangeKind::kServer, "server", "through servers, whose shards add; without servers, through rank 0",
       true, server_cost},
      {ExchangeKind::kDirect, "direct", "each rank adds a part, and sends it to all", true, direct_cost},
      {ExchangeKind::kChain, "chain", "chunks from rank to rank and back", true, chain_cost},
      {ExchangeKind::kTree, "tree", "binomial tree, as FireCaffe has it", false, tree_cost},
      {ExchangeKind::kRing, "ring", "parts around a ring, twice", false, ring_cost},
      {ExchangeKind::kHalvingDoubling, "halving_doubling", "halves between partners ever farther apart",
       false, halving_doubling_cost},
      {ExchangeKind::kDgc, "dgc", "deep gradient compression: packed gradients to all", true, dgc_cost},
  }};
  return kCatalog;
}

const ExchangeEntry& exchange_entry(ExchangeKind exchange) {
  for (const ExchangeEntry& entry : exchange_catalog()) {
    if (entry.exchange == exchange) return entry;
  }
  PS_CHECK(false);
}

// Returns how many links are full at once: the bytes that arrive anywhere, over those on the busiest link.
static double full_links(ExchangeKind exchange, const ClusterParameters& cluster) {
  const double ranks = static_cast<double>(cluster.ranks);
  switch (exchange) {
    // With V bytes of gradients and without servers, 2 (N - 1) V arrive in all, and (N - 1) V on the link
    // of rank 0 in one direction.
    case ExchangeKind::kServer:
      return cluster.servers == 0 ? 2 : std::min(ranks, static_cast<double>(cluster.servers));
    // 2 (N - 1) V arrive in all: V on each link of two ranks, and 2 V on the link of a rank in the middle,
    // from below and from above.
    case ExchangeKind::kChain:
      return std::max(2.0, ranks - 1);
    // 2 (N - 1) V arrive in all, and V from each child at the root.
    case ExchangeKind::kTree:
      return 2 * (ranks - 1) / static_cast<double>(tree_rounds(cluster.ranks));
    // All ranks send and receive the same number of bytes at the same time.
    case ExchangeKind::kDirect:
    case ExchangeKind::kRing:
    case ExchangeKind::kHalvingDoubling:
    case ExchangeKind::kDgc:
      return ranks;
  }
  PS_CHECK(false);
}

// Returns how many connections use the busiest link at once, in one direction.  A client of servers has one
// to each port.
static double busy_connections(ExchangeKind exchange, const ClusterParameters& cluster) {
  const double others = static_cast<double>(cluster.ranks - 1),
               lanes = static_cast<double>(cluster.connections);
  switch (exchange) {
    case ExchangeKind::kServer:
      if (cluster.servers > 0)
        return static_cast<double>(std::max(cluster.ranks, cluster.servers) * cluster.ports);
      return others * lanes;
    case ExchangeKind::kDirect:
    case ExchangeKind::kDgc:
      return others * lanes;
    case ExchangeKind::kChain:
      return std::min(2.0, others) * lanes;
    case ExchangeKind::kTree:
      return static_cast<double>(tree_rounds(cluster.ranks)) * lanes;
    case ExchangeKind::kRing:
    case ExchangeKind::kHalvingDoubling:
      return lanes;
  }
  PS_CHECK(false);
}

ClusterParameters with_exchange_bandwidth(ExchangeKind exchange, ClusterParameters cluster) {
  if (cluster.ranks < 2) return cluster;
  // A bandwidth of 0 stands for a link without limit, so that any limit replaces it.  The limits that have
  // been applied are cleared in the result, which may be passed to this function again.
  const auto hold_to = [&](double rate) {
    cluster.bandwidth = cluster.bandwidth > 0 ? std::min(cluster.bandwidth, rate) : rate;
  };
  if (cluster.machine_rate > 0) hold_to(cluster.machine_rate / full_links(exchange, cluster));
  if (cluster.flow_bandwidth > 0) hold_to(cluster.flow_bandwidth * busy_connections(exchange, cluster));
  cluster.machine_rate = cluster.flow_bandwidth = 0;
  return cluster;
}

ExchangeCost exchange_cost(ExchangeKind exchange, const ClusterParameters& cluster,
                           const StepBytes& payload) {
  if (cluster.ranks < 2) return {};
  return exchange_entry(exchange).cost(with_exchange_bandwidth(exchange, cluster), payload);
}

// Trees, chains and the server send each chunk up and down over N - 1 links; the other exchanges send
// between all ranks, or between partners in every round.
double exchange_messages(ExchangeKind exchange, const ClusterParameters& cluster, const StepBytes& payload) {
  const double ranks = static_cast<double>(cluster.ranks);
  switch (exchange) {
    case ExchangeKind::kServer:
      if (cluster.servers > 0) return 2 * ranks * static_cast<double>(cluster.servers * cluster.ports);
      return 2 * (ranks - 1) * static_cast<double>(gradient_chunks(cluster, payload));
    case ExchangeKind::kChain:
    case ExchangeKind::kTree:
      return 2 * (ranks - 1) * static_cast<double>(gradient_chunks(cluster, payload));
    case ExchangeKind::kHalvingDoubling:
      return 2 * ranks * static_cast<double>(tree_rounds(cluster.ranks));
    case ExchangeKind::kDgc:
      return ranks * (ranks - 1);
    case ExchangeKind::kDirect:
      return (direct_in_one_round(cluster, payload) ? 1 : 2) * ranks * (ranks - 1);
    case ExchangeKind::kRing:
      return 2 * ranks * (ranks - 1);
  }
  PS_CHECK(false);
}

}  // namespace ps
