// Writes plans, simulated runs and published measurements as tables for people, and as JSON.  Used by
// ps-bench plan.
#ifndef PS_BENCH_PLAN_REPORT_H_
#define PS_BENCH_PLAN_REPORT_H_

#include <string>
#include <vector>

#include "config/fwd.h"
#include "simulate/plan.h"
#include "simulate/published.h"

namespace ps {

// The run of one strategy on simulated time.
struct Simulation {
  std::string name;
  double formula_seconds = 0;  // seconds of a step by the formula, without noise
  int64_t steps = 0;
  SimulatedRun run;
};

// With `markdown` the tables are Markdown, else aligned columns.
std::string plan_text(const std::string& job, const Plan& plan, bool markdown);
std::string simulations_text(const std::vector<Simulation>& simulations, bool markdown);
std::string published_text(const std::vector<PublishedTable>& tables, bool markdown);

Json plan_json(const std::string& job, const Plan& plan);
Json simulations_json(const std::vector<Simulation>& simulations);
Json published_json(const std::vector<PublishedTable>& tables);

}  // namespace ps

#endif  // PS_BENCH_PLAN_REPORT_H_
