// The bars that the project is held to, and the comparison of results with them.  Used by the catalogue,
// which gives each benchmark its own bars, and by the report of bars (bench/bars_report.h).
#ifndef PS_BENCH_BARS_H_
#define PS_BENCH_BARS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchmark.h"
#include "bench/runner.h"

namespace ps {

// Returns the bars of the benchmark of this name.
std::vector<Bar> bars_of(std::string_view benchmark);

// Returns the quantity that the bar bounds, in its unit, from the result of its benchmark and, for ratios,
// from the results of others.  Returns nullopt when a benchmark that the ratio needs did not run.
std::optional<double> measured(const Bar& bar, const Result& result, std::span<const Result> results);

// Returns "wanted" when `value` meets bar.want (or bar.must, if the bar has no `want`), "met" when it meets
// bar.must alone, else "missed"; "-" when nothing was measured.
std::string verdict(const Bar& bar, std::optional<double> value);

}  // namespace ps

#endif  // PS_BENCH_BARS_H_
