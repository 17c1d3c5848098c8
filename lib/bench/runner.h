// The runner chooses benchmarks, checks their answers, times them, and compares each with its limit and its
// peers.  Used by ps-bench.
#ifndef PS_BENCH_RUNNER_H_
#define PS_BENCH_RUNNER_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/benchmark.h"

namespace ps {

// A benchmark with a number of threads.
struct Task {
  const Benchmark* benchmark;
  int threads;
  std::vector<const Benchmark*> beside = {};  // limit and peers of a paired benchmark
};

// Returns the tasks of the suites, or of every suite if "all" is among them, whose names contain `filter`.
// Each comes after its limit and its peers, which are added where they were not chosen.  With `barred`, only
// benchmarks that have bars are chosen.  `catalog` must outlive the tasks.  Throws kUsage when there is no
// task.
std::vector<Task> plan_tasks(std::span<const Benchmark> catalog, std::span<const std::string> suites,
                             const std::string& filter, std::span<const int> threads, bool barred = false);

// The result of a task.
struct Result {
  std::string name, unit;
  int threads = 1;
  std::string skipped;          // the reason why there are no numbers; empty: there are numbers
  std::vector<double> seconds;  // seconds of the timed runs, in order
  Work work;
  std::vector<Figure> figures;  // medians over the runs

  std::string limit;               // name of the benchmark that bounds the rate; empty: none
  std::optional<double> of_limit;  // rate as a share of the limit's rate
  // The name of each peer that ran, and the ratio of this rate to the peer's
  std::vector<std::pair<std::string, double>> peers;
  std::vector<Figure> of_peers;       // figures of a paired benchmark, divided by the least of its peers
  std::optional<double> of_baseline;  // ratio of the median rates of this run and of the baseline

  double amount() const { return unit == "B" ? work.bytes : work.items; }  // amount of a run, in the unit
  double median_seconds() const;
  double best_seconds() const;
  double median_rate() const { return amount() / median_seconds(); }  // in units a second
  double best_rate() const { return amount() / best_seconds(); }
};

std::optional<double> figure_of(std::span<const Figure> figures, std::string_view name);

// Returns the result of the benchmark with `threads` threads, or with 1 if it runs with 1 alone; null if it
// did not run.
const Result* find_result(std::span<const Result> results, std::string_view name, int threads);

// Runs tasks one after the other, and keeps their results for later comparisons.  One owner thread.
class Runner {
 public:
  // settings.threads is ignored: each task has its own number.
  Runner(BenchSettings settings, int runs) : settings_(std::move(settings)), runs_(runs) {}

  // Makes the workload, runs it once and checks the answer, times the runs, and checks again.  Errors are
  // thrown with the name of the benchmark.  The median is compared with the medians of the limit and the
  // peers, if run() had them before.  Limit and peers of a paired benchmark run again before every timed run,
  // and the result is then the median of the ratios of all runs.
  Result run(const Task& task);

 private:
  class TimedRuns;

  std::vector<TimedRuns> make_beside(const Task& task, const BenchSettings& settings) const;
  void time_runs(TimedRuns& own, std::vector<TimedRuns>& beside, int runs, Result& result) const;
  void compare(const TimedRuns& own, const std::vector<TimedRuns>& beside, Result& result) const;
  static void compare_figures(const TimedRuns& own, const std::vector<TimedRuns>& beside, Result& result);

  const BenchSettings settings_;
  const int runs_;
  std::vector<Result> done_;
};

}  // namespace ps

#endif  // PS_BENCH_RUNNER_H_
