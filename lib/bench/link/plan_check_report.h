// How far the plan is from what was measured, as tables for people and as a document.  Used by plan_check_program.h.
#ifndef PS_BENCH_LINK_PLAN_CHECK_REPORT_H_
#define PS_BENCH_LINK_PLAN_CHECK_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "config/json.h"

namespace ps {

// The sizes of errors, in percent of what was measured.
struct ErrorFigures {
  double median = 0, ninetieth = 0, worst = 0;
};

// The rows of a strategy.  The terms: a step; its exchange, all of a step but compute; and DGC's packing and adding.
struct PlanErrors {
  std::string strategy;
  int64_t count = 0;
  ErrorFigures step, exchange, codec;  // codec: zeros where there is none
};

// The strategies of one model, number of ranks, bandwidth and compute: the one that the plan names, since it takes the
// shortest by the model, and the one that was measured to be.
struct PlanChoice {
  std::string configuration;  // "lenet, 2 ranks, 1G"
  std::string named, fastest;
  double named_seconds = 0, fastest_seconds = 0;  // measured

  // The plan has named the fastest, or one within 5 % of it.
  bool right() const;
};

// `rows` are those of check_plan, in any order, one at least.  The errors of each strategy in the order of rows, then those of
// all rows together.
std::vector<PlanErrors> plan_errors(const std::vector<Json>& rows);
std::vector<PlanChoice> plan_choices(const std::vector<Json>& rows);

std::string plan_check_report(const Machine& machine, const std::vector<Json>& rows, bool markdown);
Json plan_check_document(const Machine& machine, const std::vector<Json>& rows);

}  // namespace ps

#endif  // PS_BENCH_LINK_PLAN_CHECK_REPORT_H_
