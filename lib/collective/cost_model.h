// How long ranks take to exchange their gradients, by formula.  Used by plans (simulate/plan.h); the
// simulator (simulate/simulator.h) goes through the same exchanges message by message and must agree.
//
// Messages cost what LogGP says (Alexandrov et al., SPAA 1995): o at the sender, n G on its link, L on the
// way, o at the receiver; messages of one sender, or to one receiver, follow each other by max(g, o, n G).
// Links are full duplex: what is sent does not slow what is received.
#ifndef PS_COLLECTIVE_COST_MODEL_H_
#define PS_COLLECTIVE_COST_MODEL_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace ps {

// The parameters of a cluster.  Rates are in bytes a second; a rate of 0 stands for no cost at all.
struct ClusterParameters {
  int64_t ranks = 2;             // trainers
  double latency = 0;            // L, seconds
  double overhead = 0;           // o, seconds of processor time a message, at each end
  double gap = 0;                // g, least seconds from one message to the next
  double bandwidth = 0;          // 1 / G, of one direction of a rank's or server's link
  double sum_rate = 0;           // at which a process adds gradients that came
  double encode_rate = 0;        // at which DGC goes through a dense gradient
  double decode_rate = 0;        // at which it adds packed gradients that came
  int64_t servers = 1;           // for the exchange through servers
  int64_t ports = 1;             // of each server: shards that share its link and add at once
  double chunk_bytes = 1 << 20;  // pieces that a chain passes on
  double one_round_bytes = 0;    // that a rank sends at most where direct takes one round
  int64_t cores = 0;             // of a machine; 0: enough for its processes
  int64_t processes = 1;         // on a machine, that communicate at once

  // How many times longer work of processors takes for processes that share cores.
  double contention() const;
};

// The bytes that one rank has to exchange.
struct StepBytes {
  double dense_bytes = 0;
  double packed_bytes = 0;  // the same gradient after DGC
};

// Seconds, by what they are spent on.
struct ExchangeCost {
  double latency = 0;   // L
  double overhead = 0;  // o, and g where it holds messages up
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
  ExchangeCost (*cost)(const ClusterParameters& cluster, const StepBytes& payload);  // of 2 ranks or more
};

// Every exchange, in the order of the manual.
std::span<const ExchangeEntry> exchange_catalog();
const ExchangeEntry& exchange_entry(ExchangeKind exchange);

// The cost of an exchange; none for a single rank.
ExchangeCost exchange_cost(ExchangeKind exchange, const ClusterParameters& cluster, const StepBytes& payload);

// Seconds that pass from one message of `bytes` to the next.
double message_slot(const ClusterParameters& cluster, double bytes);

// bytes / rate x contention; 0 for a rate of 0.
double work_seconds(const ClusterParameters& cluster, double bytes, double rate);

// The number of rounds in which 2^rounds >= ranks; and the largest power of two up to ranks.
int64_t tree_rounds(int64_t ranks);
int64_t power_of_two_below(int64_t ranks);

// Messages that one exchange has on all links together.
double exchange_messages(ExchangeKind exchange, const ClusterParameters& cluster, const StepBytes& payload);

// True when direct takes one round instead of two: each rank sends all of its gradient to all others, and adds all.
bool direct_in_one_round(const ClusterParameters& cluster, const StepBytes& payload);

// Pieces of a chain's exchange.
int64_t chain_chunks(const ClusterParameters& cluster, const StepBytes& payload);

}  // namespace ps

#endif  // PS_COLLECTIVE_COST_MODEL_H_
