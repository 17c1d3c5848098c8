// The automatic choice among the all-reduce algorithms that add in rank order.  Used by ExchangeCommunicator.
#ifndef PS_COLLECTIVE_CHOICE_H_
#define PS_COLLECTIVE_CHOICE_H_

#include <string>
#include <vector>

#include "collective/algorithm.h"

namespace ps {

// The time of an all-reduce of n bytes is seconds + n * seconds_a_byte.
struct AllReduceCost {
  const AllReduceAlgorithm* algorithm;
  double seconds, seconds_a_byte;

  bool operator==(const AllReduceCost&) const = default;
};

// Sizes at which the cost is measured: one that shows the latency, and one that shows the bandwidth.
inline constexpr size_t kLatencyBytes = size_t{1} << 10;
inline constexpr size_t kBandwidthBytes = size_t{2} << 20;

// Returns the straight line through two measured times.
AllReduceCost fit_cost(const AllReduceAlgorithm& algorithm, double latency_seconds, double bandwidth_seconds);

// encode_costs writes the costs of a rank as a text, to be gathered.  The other function returns for each
// algorithm the cost of the slowest rank, which is the same on all ranks; it throws kCorrupt for a text that
// encode_costs cannot have written for these algorithms.
std::string encode_costs(const std::vector<AllReduceCost>& costs);
std::vector<AllReduceCost> slowest_costs(const std::vector<AllReduceCost>& own,
                                         const std::vector<std::string>& gathered);

// Returns the cheapest algorithm at this size, the first one in case of a tie.
const AllReduceAlgorithm& cheapest(const std::vector<AllReduceCost>& costs, size_t data_bytes);

}  // namespace ps

#endif  // PS_COLLECTIVE_CHOICE_H_
