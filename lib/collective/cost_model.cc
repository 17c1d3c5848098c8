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

int64_t gradient_chunks(const ClusterParameters& cluster, const StepBytes& payload) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(payload.dense_bytes / cluster.chunk_bytes)));
}

// The others send rank 0 their chunks, which it adds as they come, and each sum goes out while later chunks
// come in.  Its link carries (W - 1) V each way, which FireCaffe reckons for a parameter server of W - 1 clients;
// the way out ends one chunk after the way in.
static ExchangeCost rank_server_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const double others = static_cast<double>(cluster.ranks - 1);
  const double chunks = static_cast<double>(gradient_chunks(cluster, payload));
  const double bytes = payload.dense_bytes / chunks, slot = message_slot(cluster, bytes);
  const ExchangeCost add = sum_of(cluster, bytes);
  ExchangeCost further;  // the cost of each further message on the way in
  further.transfer = transfer_seconds(cluster, bytes);
  further.overhead = slot - further.transfer;
  ExchangeCost cost = burst(cluster, 1, bytes);
  cost += add;
  cost += times(others * chunks - 1, add.sum > slot ? add : further);
  cost += burst(cluster, others, bytes);
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
// stages takes one chunk through all of them, and for each further chunk the time of the slowest.
static ExchangeCost chain_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const double chunks = static_cast<double>(gradient_chunks(cluster, payload));
  const double stages = static_cast<double>(cluster.ranks - 1), bytes = payload.dense_bytes / chunks;
  const double slot = message_slot(cluster, bytes);
  const ExchangeCost add = sum_of(cluster, bytes);
  ExchangeCost further;  // the cost of each further chunk on the way back, and on the way there
  further.transfer = transfer_seconds(cluster, bytes);
  further.overhead = slot - further.transfer;
  ExchangeCost cost = times(2 * stages, burst(cluster, 1, bytes));
  cost += times(stages, add);
  cost += times(chunks - 1, further);
  cost += times(chunks - 1, add.sum > slot ? add : further);
  return cost;
}

// A binomial tree: in each round half of the remaining ranks send all they have to the other half.  Then the
// sums go back the same way.
static ExchangeCost tree_cost(const ClusterParameters& cluster, const StepBytes& payload) {
  const double rounds = static_cast<double>(tree_rounds(cluster.ranks));
  ExchangeCost cost = times(2 * rounds, burst(cluster, 1, payload.dense_bytes));
  cost += sum_of(cluster, rounds * payload.dense_bytes);
  return cost;
}

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

ExchangeCost exchange_cost(ExchangeKind exchange, const ClusterParameters& cluster,
                           const StepBytes& payload) {
  return cluster.ranks < 2 ? ExchangeCost{} : exchange_entry(exchange).cost(cluster, payload);
}

double exchange_messages(ExchangeKind exchange, const ClusterParameters& cluster, const StepBytes& payload) {
  const double ranks = static_cast<double>(cluster.ranks);
  switch (exchange) {
    case ExchangeKind::kServer:
      if (cluster.servers > 0) return 2 * ranks * static_cast<double>(cluster.servers * cluster.ports);
      return 2 * (ranks - 1) * static_cast<double>(gradient_chunks(cluster, payload));
    case ExchangeKind::kChain:
      return 2 * (ranks - 1) * static_cast<double>(gradient_chunks(cluster, payload));
    case ExchangeKind::kTree:
      return 2 * (ranks - 1);
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
