// The time that ranks take to exchange their gradients, by formula.  Used by plans (simulate/plan.h); the
// simulator (simulate/simulator.h) goes through the same exchanges message by message and must agree.
//
// Messages cost what the LogGP model says (Alexandrov et al., SPAA 1995): o at the sender, n G on its link, L
// on the way, o at the receiver; messages of one sender, or to one receiver, follow each other by max(g, o, n
// G).  Links are full duplex: sending does not slow receiving.
#ifndef PS_COLLECTIVE_COST_MODEL_H_
#define PS_COLLECTIVE_COST_MODEL_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace ps {

// The parameters of a cluster.  Rates are in bytes a second; a rate of 0 stands for no cost at all.
struct ClusterParameters {
  int64_t ranks = 2;          // trainers
  double latency = 0;         // L, seconds
  double overhead = 0;        // o, seconds of processor time a message, at each end
  double gap = 0;             // g, least seconds from one message to the next
  double bandwidth = 0;       // 1 / G: bandwidth of one direction of the link of a rank or server
  double flow_bandwidth = 0;  // bandwidth of one connection, if a link gives a single one no more than that
  int64_t connections = 1;    // connections between each two ranks
  double sum_rate = 0;        // rate at which a process adds gradients that have come
  double encode_rate = 0;     // rate at which DGC encodes a dense gradient
  double decode_rate = 0;     // rate at which DGC adds packed gradients that have come
  int64_t servers = 1;        // servers of the exchange through servers; 0: rank 0 is the server
  int64_t ports = 1;          // ports of each server: its shards, which share its link and add at once
  double chunk_bytes = 1 << 20;  // chunks that a chain, a tree or a rank that is the server passes on
  double one_round_bytes = 0;    // the most bytes that a rank sends if direct takes one round
  double machine_rate = 0;       // bytes a second that arrive on all links together if they share a machine
  int64_t cores = 0;             // cores of a machine; 0: enough for its processes
  int64_t processes = 1;         // processes on a machine that communicate at once

  // Returns the factor by which computation takes longer if processes share cores.
  double contention() const;
};

// The bytes that one rank has to exchange.
struct StepBytes {
  double dense_bytes = 0;
  double packed_bytes = 0;  // the same gradient after DGC
};

// The seconds of an exchange, by their causes.
struct ExchangeCost {
  double latency = 0;   // L
  double overhead = 0;  // o, and g if it holds messages up
  double transfer = 0;  // n G
  double sum = 0;       // adding
  double codec = 0;     // encoding and decoding

  double total() const { return latency + overhead + transfer + sum + codec; }
  ExchangeCost& operator+=(const ExchangeCost& other);
};

enum class ExchangeKind { kServer, kDirect, kChain, kTree, kRing, kHalvingDoubling, kDgc };

struct ExchangeEntry {
  ExchangeKind exchange;
  std::string_view name;  // "server"
  std::string_view help;
  bool rank_order;  // sums run in rank order: the same bits as through servers
  ExchangeCost (*cost)(const ClusterParameters& cluster, const StepBytes& payload);  // for 2 ranks or more
};

// All exchanges, in the order of the manual.
std::span<const ExchangeEntry> exchange_catalog();
const ExchangeEntry& exchange_entry(ExchangeKind exchange);

// Returns the cluster with the bandwidth that its links have during this exchange: if they share a machine, all that are
// full at once carry machine_rate together; and a link carries no more than the connections that use it at once.
ClusterParameters with_exchange_bandwidth(ExchangeKind exchange, ClusterParameters cluster);

// Returns the cost of an exchange; it is zero for a single rank.
ExchangeCost exchange_cost(ExchangeKind exchange, const ClusterParameters& cluster, const StepBytes& payload);

// Returns the seconds from one message of `bytes` to the next.
double message_slot(const ClusterParameters& cluster, double bytes);

// Returns bytes / rate x contention, or 0 for a rate of 0.
double work_seconds(const ClusterParameters& cluster, double bytes, double rate);

// tree_rounds returns the least number of rounds with 2^rounds >= ranks. power_of_two_below returns the largest
// power of two that is not above `ranks`.
int64_t tree_rounds(int64_t ranks);
int64_t power_of_two_below(int64_t ranks);

// Returns the number of messages of one exchange on all links together.
double exchange_messages(ExchangeKind exchange, const ClusterParameters& cluster, const StepBytes& payload);

// Returns true if direct takes one round instead of two: each rank sends all of its gradient to all others, and
// adds everything.
bool direct_in_one_round(const ClusterParameters& cluster, const StepBytes& payload);

// Returns the number of chunks in which a chain, a tree or a rank that is the server passes on a gradient.
int64_t gradient_chunks(const ClusterParameters& cluster, const StepBytes& payload);

}  // namespace ps

#endif  // PS_COLLECTIVE_COST_MODEL_H_
