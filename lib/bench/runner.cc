#include "bench/runner.h"

#include <algorithm>

#include "base/error.h"
#include "base/statistics.h"

namespace ps {

namespace {

// The step of the clock: a shorter run counts as this long.
constexpr double kLeastSeconds = 1e-9;

// Puts the tasks in the order in which they run: each benchmark once, after the limits and peers that its
// result is compared with.  One owner thread.
//
// add() goes depth first: it adds the limit and the peers of a benchmark, with theirs, before the benchmark
// itself, and returns at once for a task that is planned already.  A benchmark that is not threaded is
// planned with 1 thread, whatever number was asked for, so it runs once beside all of them.
class Planner {
 public:
  explicit Planner(std::span<const Benchmark> catalog) : catalog_(catalog) {}

  // Adds the task after its limit and its peers.
  void add(const Benchmark& benchmark, int threads) {
    Task task{&benchmark, benchmark.threaded ? threads : 1, {}};
    auto same = [&](const Task& other) {
      return other.benchmark == task.benchmark && other.threads == task.threads;
    };
    if (std::any_of(tasks_.begin(), tasks_.end(), same)) return;
    std::vector<std::string> others = benchmark.peers;
    if (!benchmark.limit.empty()) others.insert(others.begin(), benchmark.limit);
    for (const std::string& other : others) {
      add(find(other), task.threads);
      if (benchmark.paired) task.beside.push_back(&find(other));
    }
    tasks_.push_back(std::move(task));
  }

  std::vector<Task> take() { return std::move(tasks_); }

 private:
  const Benchmark& find(const std::string& name) const {
    auto found = std::find_if(catalog_.begin(), catalog_.end(),
                              [&](const Benchmark& benchmark) { return benchmark.name == name; });
    PS_CHECK(found != catalog_.end());
    return *found;
  }

  const std::span<const Benchmark> catalog_;
  std::vector<Task> tasks_;
};

bool is_chosen(const Benchmark& benchmark, std::span<const std::string> suites, const std::string& filter) {
  auto fits = [&](const std::string& suite) { return suite == "all" || suite == benchmark.suite(); };
  return std::any_of(suites.begin(), suites.end(), fits) && benchmark.name.find(filter) != std::string::npos;
}

double amount_of(const Work& work, const std::string& unit) {
  return unit == "B" ? work.bytes : work.items;
}

// Returns the amount of the work in the unit of a limit.
double amount_of_limit(const Work& work, const std::string& unit) {
  return work.of_limit > 0 ? work.of_limit : amount_of(work, unit);
}

// Returns the median of each figure over the runs, all of which have the same figures.
std::vector<Figure> medians(const std::vector<std::vector<Figure>>& runs) {
  std::vector<Figure> out = runs.front();
  for (size_t i = 0; i < out.size(); ++i) {
    std::vector<double> values;
    for (const std::vector<Figure>& run : runs) values.push_back(run[i].value);
    out[i].value = median(std::move(values));
  }
  return out;
}

}  // namespace

std::optional<double> figure_of(std::span<const Figure> figures, std::string_view name) {
  for (const Figure& figure : figures) {
    if (figure.name == name) return figure.value;
  }
  return std::nullopt;
}

std::vector<Task> plan_tasks(std::span<const Benchmark> catalog, std::span<const std::string> suites,
                             const std::string& filter, std::span<const int> threads, bool barred) {
  Planner planner(catalog);
  for (const Benchmark& benchmark : catalog) {
    if (!is_chosen(benchmark, suites, filter) || (barred && benchmark.bars.empty())) continue;
    for (int count : threads) planner.add(benchmark, count);
  }
  std::vector<Task> tasks = planner.take();
  if (tasks.empty()) {
    fail(Code::kUsage, "no benchmark ", barred ? "with a bar " : "", "has ", quote(filter),
         " in its name; see --list");
  }
  return tasks;
}

// A result with the same number of threads is preferred to one with 1, wherever they stand.
const Result* find_result(std::span<const Result> results, std::string_view name, int threads) {
  const Result* found = nullptr;
  for (const Result& result : results) {
    if (result.name != name || !result.skipped.empty()) continue;
    if (result.threads != threads && result.threads != 1) continue;
    if (found == nullptr || result.threads == threads) found = &result;
  }
  return found;
}

double Result::median_seconds() const {
  return std::max(kLeastSeconds, median(seconds));
}

double Result::best_seconds() const {
  return std::max(kLeastSeconds, quantile(seconds, 0));
}

// A workload, and the times and figures of its timed runs.  One owner thread.
class Runner::TimedRuns {
 public:
  TimedRuns(const Benchmark& benchmark, const BenchSettings& settings)
      : benchmark_(&benchmark), clock_(settings.clock), workload_(benchmark.make(settings)) {}

  void warm() {
    workload_->prepare();
    workload_->run();
  }

  void check() { workload_->check(); }

  void time() {
    workload_->prepare();
    const double start = clock_();
    workload_->run();
    const double elapsed = clock_() - start;
    seconds_.push_back(workload_->seconds().value_or(elapsed));
    figures_.push_back(workload_->figures());
  }

  const Benchmark& benchmark() const { return *benchmark_; }
  Work work() const { return workload_->work(); }
  const std::vector<double>& seconds() const { return seconds_; }
  const std::vector<std::vector<Figure>>& figures() const { return figures_; }

  // Returns the median ratio of the rate of this workload, with `amount` done in a run, to that of `other`.
  // Each run is divided by the run of `other` just before it.
  double median_ratio(double amount, const TimedRuns& other) const {
    const double others_amount = amount_of(other.work(), other.benchmark_->unit);
    std::vector<double> ratios;
    for (size_t run = 0; run < seconds_.size(); ++run) {
      ratios.push_back(amount / std::max(kLeastSeconds, seconds_[run]) /
                       (others_amount / std::max(kLeastSeconds, other.seconds_[run])));
    }
    return median(std::move(ratios));
  }

 private:
  const Benchmark* benchmark_;
  Clock clock_;
  std::unique_ptr<Workload> workload_;
  std::vector<double> seconds_;
  std::vector<std::vector<Figure>> figures_;
};

// A benchmark whose data or library is missing says so by kUnavailable when it is made: it is skipped, and
// others are not compared with it.  A wrong answer ends everything, since a number for a wrong answer is
// worthless.
Result Runner::run(const Task& task) {
  const Benchmark& benchmark = *task.benchmark;
  Result result;
  result.name = benchmark.name;
  result.unit = benchmark.unit;
  result.threads = task.threads;
  result.limit = benchmark.limit;
  BenchSettings settings = settings_;
  settings.threads = task.threads;
  try {
    std::optional<TimedRuns> own;
    try {
      own.emplace(benchmark, settings);
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      result.skipped = error.message();
      return result;
    }
    std::vector<TimedRuns> beside = make_beside(task, settings);
    const int runs = benchmark.most_runs > 0 ? std::min(runs_, benchmark.most_runs) : runs_;
    time_runs(*own, beside, runs, result);
    compare(*own, beside, result);
  } catch (const Error& error) {
    throw error.within(benchmark.name);
  }
  done_.push_back(result);
  return result;
}

// Makes the limits and peers of a paired benchmark that ran on this machine before, and runs each once.
std::vector<Runner::TimedRuns> Runner::make_beside(const Task& task, const BenchSettings& settings) const {
  std::vector<TimedRuns> beside;
  for (const Benchmark* benchmark : task.beside) {
    const Result* ran = find_result(done_, benchmark->name, task.threads);
    if (ran == nullptr) continue;
    BenchSettings its = settings;
    its.threads = ran->threads;
    beside.emplace_back(*benchmark, its).warm();
  }
  return beside;
}

// The answer is checked before the timed runs and after them, so that state which goes wrong over many runs
// is found.  In each round the benchmarks in `beside` run right before this one: a disk or a virtual
// machine that becomes slower for a while then slows both, and their ratio stays.
void Runner::time_runs(TimedRuns& own, std::vector<TimedRuns>& beside, int runs, Result& result) const {
  own.warm();  // fills caches, and computes the answer that check() looks at
  own.check();
  for (int i = 0; i < runs; ++i) {
    for (TimedRuns& other : beside) other.time();
    own.time();
  }
  own.check();
  result.seconds = own.seconds();
  result.work = own.work();
  result.figures = medians(own.figures());
}

// Sets the ratios to limit and peers: from pairs of runs with the benchmarks in `beside`, from medians for
// the others.
void Runner::compare(const TimedRuns& own, const std::vector<TimedRuns>& beside, Result& result) const {
  const auto ratio_to = [&](const Result& other, double amount) {
    for (const TimedRuns& runs : beside) {
      if (runs.benchmark().name == other.name) return own.median_ratio(amount, runs);
    }
    return amount / result.median_seconds() / other.median_rate();
  };
  if (const Result* limit = find_result(done_, result.limit, result.threads)) {
    result.of_limit = ratio_to(*limit, amount_of_limit(result.work, limit->unit));
  }
  for (const std::string& name : own.benchmark().peers) {
    if (const Result* peer = find_result(done_, name, result.threads)) {
      result.peers.emplace_back(name, ratio_to(*peer, amount_of(result.work, result.unit)));
    }
  }
  compare_figures(own, beside, result);
}

// Sets each figure's ratio to the least value of the same figure among the peers in `beside`: the median over
// the runs.
void Runner::compare_figures(const TimedRuns& own, const std::vector<TimedRuns>& beside, Result& result) {
  for (const Figure& figure : result.figures) {
    std::vector<double> ratios;
    for (size_t run = 0; run < own.seconds().size(); ++run) {
      std::optional<double> least;
      for (const TimedRuns& other : beside) {
        if (other.benchmark().name == result.limit) continue;
        const std::optional<double> value = figure_of(other.figures()[run], figure.name);
        if (value && (!least || *value < *least)) least = value;
      }
      if (least) ratios.push_back(*figure_of(own.figures()[run], figure.name) / *least);
    }
    if (!ratios.empty()) result.of_peers.push_back({figure.name, median(std::move(ratios))});
  }
}

}  // namespace ps
