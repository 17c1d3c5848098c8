// The plan beside measured steps: every strategy of ps-bench plan runs over links of known bandwidth, with a wait for compute,
// and the cost model says beforehand what a step takes, from rates that were measured with other work.  Used by
// plan_check_program.h.
#ifndef PS_BENCH_LINK_PLAN_CHECK_H_
#define PS_BENCH_LINK_PLAN_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "bench/link/measurements.h"
#include "config/json.h"

namespace ps {

// A way to exchange, as a row names it: "server" with a number of servers, an algorithm of all-reduce, "dgc", or
// "local_sgd, k = 4".
struct CheckedStrategy {
  std::string name;
  int servers = 0;  // of "server"
  int period = 1;   // of local SGD
};

struct PlanCheckRequest {
  LinkRequest link;                         // one model, number of ranks, and bandwidth
  std::vector<CheckedStrategy> strategies;  // those to be measured
};

// All for these numbers of servers and periods of local SGD.
std::vector<CheckedStrategy> checked_strategies(const std::vector<int>& servers,
                                                const std::vector<int>& periods);

// Returns a row for each strategy: what it measured and what the model said, as a whole and by terms.  Calls `done` with each
// as soon as it is known.  Throws kInternal when a sum is wrong.
void check_plan(const PlanCheckRequest& request, Log& log, const std::function<void(const Json& row)>& done);

// Returns true if `row` is what check_plan would measure.
bool is_plan_row(const Json& row, const LinkRequest& link, const CheckedStrategy& strategy);

}  // namespace ps

#endif  // PS_BENCH_LINK_PLAN_CHECK_H_
