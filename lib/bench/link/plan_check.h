// Compares the plan with measured steps.  Every strategy of ps-bench plan runs over links of known bandwidth,
// where compute is a wait; beforehand, the cost model predicts the seconds of a step, from rates that were
// measured with other work.  Used by plan_check_program.h.
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

// A way to exchange gradients, as a row names it: "server" with a number of servers, an algorithm of
// all-reduce, "dgc", or "local_sgd, k = 4".
struct CheckedStrategy {
  std::string name;
  int servers = 0;  // number of servers; only "server" has any
  int period = 1;   // steps from one exchange to the next; 1 except for local SGD
};

// A configuration to be measured.
struct PlanCheckRequest {
  LinkRequest link;                         // one model, number of ranks, and bandwidth
  std::vector<CheckedStrategy> strategies;  // the strategies to be measured
};

// Returns all strategies with these numbers of servers and these periods of local SGD.
std::vector<CheckedStrategy> checked_strategies(const std::vector<int>& servers,
                                                const std::vector<int>& periods);

// Measures each strategy and hands its row to `done` as soon as it is known: the measured seconds and those
// of the model, as a whole and by terms.  Throws kInternal when a sum is wrong.
void check_plan(const PlanCheckRequest& request, Log& log, const std::function<void(const Json& row)>& done);

// Returns true if `row` is one that check_plan would measure for this configuration and strategy.  The choice
// kAnyLink of links takes rows of any kind of link, any other choice only those of its own.
bool is_plan_row(const Json& row, const LinkRequest& link, const CheckedStrategy& strategy);

}  // namespace ps

#endif  // PS_BENCH_LINK_PLAN_CHECK_H_
