// Runs benchmarks: chooses them, checks their answers, times them, and sets each beside its limit and its
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

// One benchmark at one number of threads.
struct Task {
  const Benchmark* benchmark;
  int threads;
  std::vector<const Benchmark*> beside = {};  // of a paired benchmark: its limit and its peers
};

// The tasks of the suites ("all" among them: every one) whose names hold `filter`, each after the limit and
// the peers that it is set beside, which are added where they were not chosen.  With `barred`, those alone
// that have bars.  `catalog` must outlive them.  Throws kUsage when there is none.
std::vector<Task> plan_tasks(std::span<const Benchmark> catalog, std::span<const std::string> suites,
                             const std::string& filter, std::span<const int> threads, bool barred = false);

struct Result {
  std::string name, unit;
  int threads = 1;
  std::string skipped;          // why there are no numbers; empty: there are
  std::vector<double> seconds;  // of the runs, in order
  Work work;
  std::vector<Figure> figures;  // medians over the runs

  std::string limit;                                  // benchmark that bounds it; empty: none
  std::optional<double> of_limit;                     // share of the limit's rate
  std::vector<std::pair<std::string, double>> peers;  // that ran, with how many times faster this is
  std::vector<Figure> of_peers;       // figures of a paired benchmark, over the least of a peer's
  std::optional<double> of_baseline;  // rate over that of the baseline, by the medians

  double amount() const { return unit == "B" ? work.bytes : work.items; }  // of a run, in the unit
  double median_seconds() const;
  double best_seconds() const;
  double median_rate() const { return amount() / median_seconds(); }  // units a second
  double best_rate() const { return amount() / best_seconds(); }
};

std::optional<double> figure_of(std::span<const Figure> figures, std::string_view name);

// The result of the benchmark, if it ran, at as many threads, or at 1 where that is all there is; else null.
const Result* find_result(std::span<const Result> results, std::string_view name, int threads);

class Runner {
 public:
  // `settings.threads` is each task's own.
  Runner(BenchSettings settings, int runs) : settings_(std::move(settings)), runs_(runs) {}

  // Sets it up, runs it once and checks the answer, times the runs, and checks again.  Throws errors with the
  // benchmark's name.  Compares the median with the medians of limit and peers, if the runner ran them
  // before.  For a paired benchmark, they run again before every timed run, and the result is the median of
  // the ratios of all runs.
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
