// The tests of clusters share these: the harness of the library, and a comparison of weights bit by bit.
#ifndef PS_TESTS_SIM_CLUSTER_H_
#define PS_TESTS_SIM_CLUSTER_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/text.h"
#include "net/sim/proxy.h"
#include "net/sim/sim_faults.h"
#include "net/sim/sim_network.h"
#include "simulate/shard_cluster.h"
#include "simulate/synthetic_job.h"

namespace ps {

using namespace std::chrono_literals;

inline void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0) return;
  size_t i = 0;
  while (std::memcmp(&a[i], &b[i], sizeof(float)) == 0) ++i;
  FAIL() << "weight " << i << " of " << a.size() << " is " << a[i] << " and " << b[i];
}

// A job of two trainers gives the same weights under faults of every kind, drawn from each of so many seeds.
inline void expect_no_bit_changes_under_faults(const SyntheticJob& job, uint64_t seeds) {
  const std::vector<float> calm = ShardCluster(job, {2, 1, 1}).train();
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    ShardCluster cluster(job, {2, 1, 1}, seed);
    cluster.network().set_default_link(
        {.latency = 2ms, .jitter = 5ms, .bytes_per_second = 2e7, .split = true});
    std::vector<SimHost*> hosts = cluster.hosts();
    for (int rank = 0; rank < 2; ++rank) hosts.push_back(&cluster.network().host(cat("trainer", rank)));
    SimFaults faults(cluster.network(), hosts, {.mean_interval = 60ms, .longest = 500ms});
    expect_same_bits(calm, cluster.train());
    EXPECT_GT(faults.num_faults(), 0u);
  }
}

}  // namespace ps

#endif  // PS_TESTS_SIM_CLUSTER_H_
