// The tests of clusters share these: the harness of the library, and a comparison of weights bit by bit.
#ifndef PS_TESTS_SIM_CLUSTER_H_
#define PS_TESTS_SIM_CLUSTER_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "net/sim/proxy.h"
#include "net/sim/sim_faults.h"
#include "net/sim/sim_host.h"
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

}  // namespace ps

#endif  // PS_TESTS_SIM_CLUSTER_H_
