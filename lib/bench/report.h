// Results for people and for scripts: a table, JSON, and the comparison with a former run.  Used by ps-bench.
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

// Returns "12.3 GB/s" or "1.5 M rows/s".
std::string rate_text(double rate, const std::string& unit);

// Return "45.7 %", or "-" if there is no share; "5.12 x"; and "libcuckoo" for "table/find/libcuckoo".
std::string share_text(const std::optional<double>& share);
std::string times_text(double ratio);
std::string last_part(const std::string& name);

// Returns the description of the machine and of the run, one line for each fact: "kernel      Linux 6.1".
std::string machine_text(const Machine& machine, double scale, int runs);

// Lines of an aligned table, each ended by a line feed; they are printed as the results come in.  Constant
// after construction; any thread may use it.
class ReportTable {
 public:
  // The widths of the columns follow from the names of the tasks.  With a baseline the table has a column for
  // it.
  ReportTable(std::span<const Task> tasks, bool has_baseline);

  std::string header(const Machine& machine, double scale, int runs) const;
  std::string row(const Result& result) const;

 private:
  std::string line(std::span<const std::string> cells, const std::string& rest) const;

  std::vector<size_t> widths_;  // widths of the columns; the first is aligned to the left
  const bool has_baseline_;
};

Json result_json(const Result& result);
Json document(const Machine& machine, double scale, int runs, std::span<const Result> results);

// The median rates of a former run.  Constant after construction; any thread may use it.
class Baseline {
 public:
  // Reads what document() wrote.  Throws kUsage, naming `name`, for any other document.
  Baseline(const Json& document, const std::string& name);

  // Sets result.of_baseline if the former run has the same benchmark with the same number of threads.
  void compare(Result& result) const;

 private:
  struct Entry {
    std::string name;
    int threads;
    double rate;
  };
  std::vector<Entry> entries_;
};

// Returns a line "name, threads: rate, 0.71 times the baseline" for each result whose rate is below `bar`
// times that of the baseline.  Throws kUsage when no result has a baseline, since nothing would be compared.
std::vector<std::string> below_bar(std::span<const Result> results, double bar);

}  // namespace ps

#endif  // PS_BENCH_REPORT_H_
