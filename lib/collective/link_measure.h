// Measures the links among the ranks of a communicator, for the cost model.  Used by the strategy auto.
#ifndef PS_COLLECTIVE_LINK_MEASURE_H_
#define PS_COLLECTIVE_LINK_MEASURE_H_

#include <span>
#include <vector>

#include "collective/communicator.h"
#include "collective/cost_model.h"

namespace ps {

// Returns for each number the largest that a rank has given; the result is the same on all ranks.  All ranks
// must give the same count of numbers; throws kCorrupt otherwise.
std::vector<double> largest_of_all(Communicator& communicator, std::span<const double> own);

// Returns the latency and the bandwidth of the slowest rank, measured by exchanges of short and of long
// messages among all ranks.  Other costs are 0.  All ranks must call it together.
ClusterParameters measure_links(Communicator& communicator);

}  // namespace ps

#endif  // PS_COLLECTIVE_LINK_MEASURE_H_
