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

// Of each figure over the runs; every run has the same ones.
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
    int runs = benchmark.most_runs > 0 ? std::min(runs_, benchmark.most_runs) : runs_;
    time_runs(*workload, runs, result);
  } catch (const Error& error) {
    throw error.within(benchmark.name);
  }
  compare(benchmark, result);
  done_.push_back(result);
  return result;
}

void Runner::time_runs(Workload& workload, int runs, Result& result) const {
  workload.prepare();
  workload.run();  // warms caches, and gives the answer to check
  workload.check();
  std::vector<std::vector<Figure>> figures;
  for (int i = 0; i < runs; ++i) {
    workload.prepare();
    double start = settings_.clock();
    workload.run();
    double elapsed = settings_.clock() - start;
    result.seconds.push_back(workload.seconds().value_or(elapsed));
    figures.push_back(workload.figures());
  }
  workload.check();
  result.work = workload.work();
  result.figures = medians(figures);
}

void Runner::compare(const Benchmark& benchmark, Result& result) const {
  if (const Result* limit = find_result(done_, benchmark.limit, result.threads)) {
    double amount = result.work.of_limit > 0 ? result.work.of_limit
                    : limit->unit == "B"     ? result.work.bytes
                                             : result.work.items;
    result.of_limit = amount / result.median_seconds() / limit->median_rate();
  }
  for (const std::string& name : benchmark.peers) {
    if (const Result* peer = find_result(done_, name, result.threads)) {
      result.peers.emplace_back(name, result.median_rate() / peer->median_rate());
    }
  }
}

}  // namespace ps
