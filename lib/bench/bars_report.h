// How a run stands to the bars, as people and scripts read it.  Used by ps-bench --bars.
#ifndef PS_BENCH_BARS_REPORT_H_
#define PS_BENCH_BARS_REPORT_H_

#include <span>
#include <string>

#include "bench/machine.h"
#include "bench/runner.h"
#include "config/fwd.h"

namespace ps {

// The machine; a line for each bar of the tasks, in their order; and the limits that were measured with them.
// As aligned columns, or as Markdown.  Verdicts are given at scale 1, where the bars hold.
std::string bars_report(const Machine& machine, double scale, int runs, std::span<const Task> tasks,
                        std::span<const Result> results, bool markdown);

// The bars as an array: {"what", "benchmark", "threads", "measured", "must", "want", "verdict"}, without what
// there is not.
Json bars_json(std::span<const Task> tasks, std::span<const Result> results, double scale);

}  // namespace ps

#endif  // PS_BENCH_BARS_REPORT_H_
