// A cluster whose exchanges can be reckoned by hand.  Used by the tests of formulas and of the simulator.
#ifndef PS_TESTS_UNIT_SIMULATE_PLAIN_CLUSTER_H_
#define PS_TESTS_UNIT_SIMULATE_PLAIN_CLUSTER_H_

#include "collective/cost_model.h"

namespace ps {

// Links of 100 MB/s whose messages cost nothing else.
inline ClusterParameters plain_cluster(int64_t ranks) {
  ClusterParameters cluster;
  cluster.ranks = ranks;
  cluster.bandwidth = 1e8;
  return cluster;
}

// 1 MB, which takes 10 ms on such a link, and 1 kB after DGC.
constexpr StepBytes kMegabyte = {.dense_bytes = 1e6, .packed_bytes = 1e3};

// The time of one exchange of a megabyte by the formulas.
inline double formula_seconds(ExchangeKind exchange, const ClusterParameters& cluster) {
  return exchange_cost(exchange, cluster, kMegabyte).total();
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_SIMULATE_PLAIN_CLUSTER_H_
