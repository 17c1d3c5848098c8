// The results of a run beside the bars, for people and for scripts.  Used by ps-bench --bars.
#ifndef PS_BENCH_BARS_REPORT_H_
#define PS_BENCH_BARS_REPORT_H_

#include <span>
#include <string>

#include "bench/machine.h"
#include "bench/runner.h"
#include "config/fwd.h"

namespace ps {

// Returns the description of the machine; a line for each bar of the tasks, in their order; and the limits
// that were measured with them, as aligned columns or as Markdown.  Verdicts are given at scale 1, where the
// bars hold.
std::string bars_report(const Machine& machine, double scale, int runs, std::span<const Task> tasks,
                        std::span<const Result> results, bool markdown);

// Returns the bars as an array of {"what", "benchmark", "threads", "measured", "must", "want", "verdict"};
// keys without a value are absent.
Json bars_json(std::span<const Task> tasks, std::span<const Result> results, double scale);

}  // namespace ps

#endif  // PS_BENCH_BARS_REPORT_H_
