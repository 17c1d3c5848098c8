#include "bench/runner.h"

#include <algorithm>

#include "base/error.h"
#include "bench/statistics.h"

namespace ps {

namespace {

// A clock's step: no run is taken to be shorter.
constexpr double kLeastSeconds = 1e-9;

class Planner {
 public:
  explicit Planner(std::span<const Benchmark> catalog) : catalog_(catalog) {}

  // Adds the task after those that it is set beside.
  void add(const Benchmark& benchmark, int threads) {
    Task task{&benchmark, benchmark.threaded ? threads : 1};
    auto same = [&](const Task& other) {
      return other.benchmark == task.benchmark && other.threads == task.threads;
    };
    if (std::any_of(tasks_.begin(), tasks_.end(), same)) return;
    if (!benchmark.limit.empty()) add(find(benchmark.limit), task.threads);
    for (const std::string& peer : benchmark.peers) add(find(peer), task.threads);
    tasks_.push_back(task);
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

}  // namespace

std::vector<Task> plan_tasks(std::span<const Benchmark> catalog, std::span<const std::string> suites,
                             const std::string& filter, std::span<const int> threads) {
  Planner planner(catalog);
  for (const Benchmark& benchmark : catalog) {
    if (!is_chosen(benchmark, suites, filter)) continue;
    for (int count : threads) planner.add(benchmark, count);
  }
  std::vector<Task> tasks = planner.take();
  if (tasks.empty()) fail(Code::kUsage, "no benchmark has ", quote(filter), " in its name; see --list");
  return tasks;
}

double Result::median_seconds() const {
  return std::max(kLeastSeconds, median(seconds));
}

double Result::best_seconds() const {
  return std::max(kLeastSeconds, quantile(seconds, 0));
}

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
    std::unique_ptr<Workload> workload;
    try {
      workload = benchmark.make(settings);
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      result.skipped = error.message();
      return result;
    }
    time_runs(*workload, result);
  } catch (const Error& error) {
    throw error.within(benchmark.name);
  }
  compare(benchmark, result);
  done_.push_back(result);
  return result;
}

void Runner::time_runs(Workload& workload, Result& result) const {
  workload.prepare();
  workload.run();  // warms caches, and gives the answer to check
  workload.check();
  for (int i = 0; i < runs_; ++i) {
    workload.prepare();
    double start = settings_.clock();
    workload.run();
    result.seconds.push_back(settings_.clock() - start);
  }
  workload.check();
  result.work = workload.work();
  result.figures = workload.figures();
}

void Runner::compare(const Benchmark& benchmark, Result& result) const {
  if (const Result* limit = find(benchmark.limit, result.threads)) {
    double amount = result.work.of_limit > 0 ? result.work.of_limit
                    : limit->unit == "B"     ? result.work.bytes
                                             : result.work.items;
    result.of_limit = amount / result.median_seconds() / limit->median_rate();
  }
  for (const std::string& name : benchmark.peers) {
    if (const Result* peer = find(name, result.threads)) {
      result.peers.emplace_back(name, result.median_rate() / peer->median_rate());
    }
  }
}

// The result at as many threads, or at 1 where that is all there is.
const Result* Runner::find(const std::string& name, int threads) const {
  const Result* found = nullptr;
  for (const Result& result : done_) {
    if (result.name != name || (result.threads != threads && result.threads != 1)) continue;
    if (found == nullptr || result.threads == threads) found = &result;
  }
  return found;
}

}  // namespace ps
