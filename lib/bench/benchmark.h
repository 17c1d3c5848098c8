// Benchmarks as data: what each measures, what it needs, and what to print beside it.  Used by the runner
// (bench/runner.h) and by the suites.
//
// Adding a benchmark is a Workload and a line in its suite's list; adding a suite is a folder, and a line in
// bench/catalog.cc.
#ifndef PS_BENCH_BENCHMARK_H_
#define PS_BENCH_BENCHMARK_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ps {

using Clock = std::function<double()>;  // seconds, from any origin

// What a benchmark is made with.
struct BenchSettings {
  double scale = 1;           // of sizes: 1 is what results are quoted at, 0.01 is enough to see it run
  int threads = 1;            // that share the work of a run
  std::string scratch = ".";  // folder for files that are gone at the end
  Clock clock = {};           // of all that is timed
};

// What one run does.
struct Work {
  double bytes = 0;  // moved, read or parsed
  double items = 0;  // of the benchmark's unit, unless that is bytes

  // The least that the run must ask of the benchmark's limit, in the limit's unit; 0: the run's own amount.
  double of_limit = 0;
};

// A number beside the rate: {"bytes a row", 140}.
struct Figure {
  std::string name;
  double value;
};

// A benchmark set up: its data, and the runs over them.  One owner thread.
class Workload {
 public:
  virtual ~Workload() = default;

  // Puts things as run() wants to find them.  Not timed.
  virtual void prepare() {}

  // What is timed.
  virtual void run() = 0;

  // Throws when the last run's answer is wrong.  Not timed.
  virtual void check() = 0;

  virtual Work work() const = 0;  // of the last run
  virtual std::vector<Figure> figures() const { return {}; }
};

// Throws kUnavailable, saying why, when the machine lacks what the benchmark needs: it is then skipped.
using MakeWorkload = std::function<std::unique_ptr<Workload>(const BenchSettings&)>;

struct Benchmark {
  std::string name;  // "limits/read/huge": the suite comes first
  std::string help;  // a phrase, for --list
  std::string unit;  // what its rate counts: "B", or "rows"
  MakeWorkload make;
  bool threaded = false;   // run for each of --threads, else for 1 alone
  std::string limit = {};  // benchmark that bounds its rate; empty: none
  std::vector<std::string> peers =
      {};  // benchmarks that do the same another way; the first that runs is shown

  std::string suite() const { return name.substr(0, name.find('/')); }
};

// Throws kInternal "what: found, expected e" unless both agree to `tolerance`, relative to `expected`.
void expect_near(std::string_view what, double found, double expected, double tolerance);

// The same for numbers that must be equal.
void expect_equal(std::string_view what, uint64_t found, uint64_t expected);

}  // namespace ps

#endif  // PS_BENCH_BENCHMARK_H_
