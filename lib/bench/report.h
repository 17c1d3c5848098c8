// Results as people and scripts read them: a table, JSON, and the comparison with a former run.  Used by
// ps-bench.
#ifndef PS_BENCH_REPORT_H_
#define PS_BENCH_REPORT_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/runner.h"
#include "config/fwd.h"

namespace ps {

// "12.3 GB/s", "1.5 M rows/s".
std::string rate_text(double rate, const std::string& unit);

// "45.7 %", or "-"; "5.12 x"; "libcuckoo" of "table/find/libcuckoo".
std::string share_text(const std::optional<double>& share);
std::string times_text(double ratio);
std::string last_part(const std::string& name);

// Where and how results were measured, a line for each thing: "kernel      Linux 6.1".
std::string machine_text(const Machine& machine, double scale, int runs);

// Lines of an aligned table, each ended by \n; they are printed as the results come in.
class ReportTable {
 public:
  // The names of the tasks say how wide the first column is.  With a baseline there is a column for it.
  ReportTable(std::span<const Task> tasks, bool has_baseline);

  std::string header(const Machine& machine, double scale, int runs) const;
  std::string row(const Result& result) const;

 private:
  std::string line(std::span<const std::string> cells, const std::string& rest) const;

  std::vector<size_t> widths_;  // of the columns; the first is aligned to the left
  const bool has_baseline_;
};

Json result_json(const Result& result);
Json document(const Machine& machine, double scale, int runs, std::span<const Result> results);

// The median rates of a former run.
class Baseline {
 public:
  // From what document() gave.  Throws kUsage, naming `name`, when it is no such document.
  Baseline(const Json& document, const std::string& name);

  // Sets of_baseline, where the former run has the same benchmark at as many threads.
  void compare(Result& result) const;

 private:
  struct Entry {
    std::string name;
    int threads;
    double rate;
  };
  std::vector<Entry> entries_;
};

// A line "name, threads: rate, 0.71 times the baseline" for each result below `bar` times the baseline's
// rate. Throws kUsage when no result has a baseline: nothing would be compared.
std::vector<std::string> below_bar(std::span<const Result> results, double bar);

}  // namespace ps

#endif  // PS_BENCH_REPORT_H_
