// Measures the links among the ranks of a communicator, for the cost model.  Used by the strategy auto.
#ifndef PS_COLLECTIVE_LINK_MEASURE_H_
#define PS_COLLECTIVE_LINK_MEASURE_H_

#include <span>
#include <vector>

#include "collective/communicator.h"
#include "collective/cost_model.h"

namespace ps {

// Returns for each number the largest that a rank has given: the same on all ranks.  All ranks must give as many; throws
// kCorrupt when they do not.
std::vector<double> largest_of_all(Communicator& communicator, std::span<const double> own);

// Returns the latency and the bandwidth of the slowest rank, by exchanges of short and of long messages among all ranks;
// other costs are 0.  To be called by all ranks together.
ClusterParameters measure_links(Communicator& communicator);

}  // namespace ps

#endif  // PS_COLLECTIVE_LINK_MEASURE_H_
