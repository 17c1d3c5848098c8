// Benchmarks of all-reduce: a run has no more calls than it has time for.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/all_reduce/suite.h"
#include "bench_test.h"

namespace ps::all_reduce_test {
namespace {

// Returns the calls of a run, of a hundred, whose first one seems to take so long.
double calls_of_run(double seconds) {
  const std::vector<Benchmark> all = all_reduce_benchmarks();
  const auto found = std::ranges::find(all, std::string("all-reduce/2-ranks/1K/direct"), &Benchmark::name);
  double now = 0;
  const std::unique_ptr<Workload> workload =
      found->make({.scale = 0.01, .clock = [&] { return now += seconds; }});
  workload->prepare();
  return workload->work().items;
}

TEST(AllReduce, ARunOfSlowCallsHasFewer) {
  EXPECT_EQ(calls_of_run(0.01), 100);
  EXPECT_EQ(calls_of_run(1), 10);
  EXPECT_EQ(calls_of_run(100), 2);
}

}  // namespace
}  // namespace ps::all_reduce_test
