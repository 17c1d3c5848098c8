// Reports the difference between the plan and measured steps, as tables for people and as a document.  Used
// by plan_check_program.h.
#ifndef PS_BENCH_LINK_PLAN_CHECK_REPORT_H_
#define PS_BENCH_LINK_PLAN_CHECK_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "config/json.h"

namespace ps {

// The sizes of errors, in percent of the measured seconds.
struct ErrorFigures {
  double median = 0, ninetieth = 0, worst = 0;
};

// The errors of the rows of a strategy, by term: a step; its exchange, which is all of a step except compute;
// and the codec of DGC, which packs and adds.
struct PlanErrors {
  std::string strategy;
  int64_t count = 0;
  ErrorFigures step, exchange, codec;  // the errors of the codec are zero for a strategy without one
};

// The choice of the plan for one model, number of ranks, bandwidth and compute time.  It names the strategy
// that is fastest by the model; beside it stands the one that was measured to be fastest.
struct PlanChoice {
  std::string configuration;  // "lenet, 2 ranks, 1G"
  std::string named, fastest;
  // The measured seconds of a step by the named strategy, and by the fastest.
  double named_seconds = 0, fastest_seconds = 0;

  // Returns true if the plan has named the fastest strategy, or one within 5 % of it.
  bool right() const;
};

// Returns the errors of each strategy, in the order of rows, then those of all rows together.  `rows`, at
// least one, are those of check_plan in any order.
std::vector<PlanErrors> plan_errors(const std::vector<Json>& rows);
std::vector<PlanChoice> plan_choices(const std::vector<Json>& rows);

// Returns the rows of strategies that exchange the whole gradient in every step: through servers, or by an
// all-reduce.  Among all rows the plan mostly names a strategy that sends far fewer bytes, which says little of
// the order of these.
std::vector<Json> uncompressed_rows(const std::vector<Json>& rows);

std::string plan_check_report(const Machine& machine, const std::vector<Json>& rows, bool markdown);
Json plan_check_document(const Machine& machine, const std::vector<Json>& rows);

}  // namespace ps

#endif  // PS_BENCH_LINK_PLAN_CHECK_REPORT_H_
