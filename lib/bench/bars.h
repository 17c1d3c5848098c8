// The bars that the project is held to, and how what was measured stands to them.  Used by the catalogue,
// which gives each benchmark its own, and by the report of bars (bench/bars_report.h).
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

// The bars of the benchmark of this name.
std::vector<Bar> bars_of(std::string_view benchmark);

// Names of the benchmarks that have bars, each once.
std::vector<std::string> barred_benchmarks();

// Returns the quantity that the bar bounds, in its unit, from the result of its benchmark and, for ratios, of
// others; nullopt when a benchmark that it needs did not run.
std::optional<double> measured(const Bar& bar, const Result& result, std::span<const Result> results);

// "wanted" when `want` is met (or `must`, where there is no want), "met" when `must` is, else "missed"; "-"
// when nothing was measured.
std::string verdict(const Bar& bar, std::optional<double> value);

}  // namespace ps

#endif  // PS_BENCH_BARS_H_
