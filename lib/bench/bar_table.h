// The bars that the project is held to, as a table of data.  Used by bars.cc, which gives them to benchmarks.
#ifndef PS_BENCH_BAR_TABLE_H_
#define PS_BENCH_BAR_TABLE_H_

#include <optional>
#include <span>

#include "bench/benchmark.h"

namespace ps {

// One bar of one benchmark at a number of threads; its columns are the members of Bar.
struct BarRow {
  enum Bound { kAtMost, kAtLeast };

  const char *benchmark, *what;
  int threads;
  Quantity quantity;
  const char *of, *unit;
  Bound bound;
  std::optional<double> must, want;
  const char* stated = "";       // stated result of a peer: "ps-lite: 4.1 M/s"
  const char* stated_peer = "";  // benchmark of the same peer; where it runs, its result replaces `stated`

  Bar bar() const;
};

// Returns every bar, in the order of the suites and of the report.
std::span<const BarRow> bar_table();

}  // namespace ps

#endif  // PS_BENCH_BAR_TABLE_H_
