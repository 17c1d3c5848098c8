// The automatic choice among the all-reduce algorithms that add in rank order.  Used by ExchangeCommunicator.
#ifndef PS_COLLECTIVE_CHOICE_H_
#define PS_COLLECTIVE_CHOICE_H_

#include <array>
#include <string>
#include <vector>

#include "collective/algorithm.h"

namespace ps {

// A size at which the cost is measured: the median of `blocks` blocks of `calls` calls each.  Blocks have an
// even number of calls, since a call that waits for other ranks is often followed by one that does not.
struct CostMeasure {
  size_t bytes;
  int blocks, calls;
};

// The smallest size shows the latency, and the largest the bandwidth, which needs the fewest calls.  Between
// them the number of an algorithm's rounds grows, and copies no longer fit into caches.
inline constexpr std::array<CostMeasure, 3> kCostMeasures = {{
    {size_t{1} << 10, 7, 16},
    {size_t{64} << 10, 7, 8},
    {size_t{2} << 20, 5, 2},
}};

// Times at the sizes of kCostMeasures.  Between them the time of an all-reduce is interpolated linearly.  Below
// the smallest size it is constant; above the largest it continues the line between the last two.
struct AllReduceCost {
  const AllReduceAlgorithm* algorithm;
  std::array<double, kCostMeasures.size()> seconds;

  double at(size_t data_bytes) const;
  bool operator==(const AllReduceCost&) const = default;
};

// Returns true if the automatic choice measures this algorithm among `size` ranks: it adds in rank order, and its
// busiest rank does not send many times the data.  To measure one that does would take long, and it cannot be the
// fastest.  The result is the same on all ranks.
bool is_candidate(const AllReduceAlgorithm& algorithm, int size);

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
