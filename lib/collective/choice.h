// The automatic choice among the all-reduce algorithms that add in rank order.  Used by ExchangeCommunicator.
#ifndef PS_COLLECTIVE_CHOICE_H_
#define PS_COLLECTIVE_CHOICE_H_

#include <string>
#include <vector>

#include "collective/algorithm.h"

namespace ps {

// Time of an all-reduce of n bytes: seconds + n * seconds_a_byte.
struct AllReduceCost {
  const AllReduceAlgorithm* algorithm;
  double seconds, seconds_a_byte;

  bool operator==(const AllReduceCost&) const = default;
};

// Sizes at which the cost is measured: one that shows the latency, and one that shows the bandwidth.
inline constexpr size_t kLatencyBytes = size_t{1} << 10;
inline constexpr size_t kBandwidthBytes = size_t{2} << 20;

// The straight line through two measured times.
AllReduceCost fit_cost(const AllReduceAlgorithm& algorithm, double latency_seconds, double bandwidth_seconds);

// The costs of all ranks as one text each, to be gathered; and for each algorithm the cost of the slowest
// rank, the same on all ranks.  Throws kCorrupt when a text is not what encode_costs writes of these
// algorithms.
std::string encode_costs(const std::vector<AllReduceCost>& costs);
std::vector<AllReduceCost> slowest_costs(const std::vector<AllReduceCost>& own,
                                         const std::vector<std::string>& gathered);

// The cheapest at this size, the first of equals.
const AllReduceAlgorithm& cheapest(const std::vector<AllReduceCost>& costs, size_t data_bytes);

}  // namespace ps

#endif  // PS_COLLECTIVE_CHOICE_H_
