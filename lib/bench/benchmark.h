// Benchmarks as data: each entry says what it measures, what it needs, and which results are printed beside
// it.  Used by the runner (bench/runner.h) and by the suites.
//
// To add a benchmark, write a Workload and a line in the list of its suite; to add a suite, a folder and a
// line in bench/catalog.cc.
#ifndef PS_BENCH_BENCHMARK_H_
#define PS_BENCH_BENCHMARK_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cpu.h"

namespace ps {

using Clock = std::function<double()>;  // seconds, from any origin

// The settings that a benchmark is made with.
struct BenchSettings {
  double scale = 1;                 // factor of sizes: results are quoted at 1; 0.01 is enough for a trial
  int threads = 1;                  // number of threads that share the work of a run
  CpuLevel cpu = best_cpu_level();  // instructions that kernels may use
  std::string scratch = ".";        // folder for files that are removed at the end
  std::string cache = ".";          // folder for data that is made once and kept for later runs
  std::string programs = {};        // folder of ps-train and ps-datagen of the same build
  std::string device = "cuda:0";    // device of the suite `gpu`: a GPU, or "emulated"
  Clock clock = {};                 // clock of all timings
};

// The amount of work of one run.
struct Work {
  double bytes = 0;  // bytes moved, read or parsed
  double items = 0;  // number of the benchmark's units, unless the unit is bytes

  // The least amount that the run must ask of the benchmark's limit, in the limit's unit.  0: the amount
  // above.
  double of_limit = 0;
};

// A number that is reported beside the rate: {"bytes a row", 140}.
struct Figure {
  std::string name;
  double value;
};

// A benchmark that is ready to run: its data, and the runs over them.  One owner thread.
class Workload {
 public:
  virtual ~Workload() = default;

  // Restores the state that run() expects.  Not timed.
  virtual void prepare() {}

  // Does the work that is timed.
  virtual void run() = 0;

  // Throws when the last run's answer is wrong.  Not timed.
  virtual void check() = 0;

  virtual Work work() const = 0;  // amount of the last run

  // Returns the figures of the last run; the report has the median of each over all runs.
  virtual std::vector<Figure> figures() const { return {}; }

  // Returns the seconds of the last run, if the run itself times a share of its work, such as a pass of a
  // process.  nullopt: the time of all of run() counts.
  virtual std::optional<double> seconds() const { return std::nullopt; }
};

// Makes the workload.  Throws kUnavailable, saying why, when the machine lacks what the benchmark needs; the
// benchmark is then skipped.
using MakeWorkload = std::function<std::unique_ptr<Workload>(const BenchSettings&)>;

// The quantity that a bar bounds.
enum class Quantity {
  kRate,        // units a second
  kSeconds,     // seconds of a run
  kFigure,      // the figure named `of`
  kLimitShare,  // share of the rate of the benchmark's limit
  kPeerRate,    // rate, as a multiple of that of the peer `of`
  kPeerTime,    // seconds, as a multiple of those of the peer `of`
  kPeerFigure,  // the figure named `of`, divided by the least among the peers that ran
  kThreadGain,  // rate, as a multiple of the rate at 1 thread
};

// A bar that the project is held to: a bound on the median at full size on two cores.  bar_table.cc lists all
// bars.
struct Bar {
  std::string what = {};  // name in reports, without the number of threads
  int threads = 1;
  Quantity quantity = Quantity::kSeconds;
  std::string of = {};    // name of the figure or of the peer
  std::string unit = {};  // unit of the bounds: "s", "MB", "x"; a rate has the benchmark's unit
  bool at_least = false;  // `must` and `want` are least values; else they are greatest values
  std::optional<double> must = {}, want = {};

  // A peer that few machines have, and its result on another machine: {"process/logistic/vw", "…: 1.2 s"}.
  // The report prints the text, marked as stated, where that peer did not run.
  struct Stated {
    std::string peer, text;
  } stated = {};
};

// One entry of a suite.
struct Benchmark {
  std::string name;  // "limits/read/huge": the suite comes first
  std::string help;  // a phrase for --list
  std::string unit;  // the unit that its rate counts: "B", or "rows"
  MakeWorkload make;
  bool threaded = false;   // it is run for each number of --threads, else for 1 alone
  int most_runs = 0;       // most timed runs, for a peer that takes minutes; 0: as many as --runs says
  std::string limit = {};  // name of the benchmark that bounds its rate; empty: none
  // Names of benchmarks that do the same in another way.  Reports show the first of them that ran.
  std::vector<std::string> peers = {};

  // True if limit and peers run again, in turns with the benchmark.  This is for quantities that vary with
  // the machine's state, such as the speed of disks and of memory of virtual machines.
  bool paired = false;

  std::vector<Bar> bars = {};

  std::string suite() const { return name.substr(0, name.find('/')); }
};

// Throws kInternal "what: found, expected e" unless `found` and `expected` agree to `tolerance`, relative to
// `expected`.
void expect_near(std::string_view what, double found, double expected, double tolerance);

// Throws kInternal "what: found, expected e" unless both numbers are equal.
void expect_equal(std::string_view what, uint64_t found, uint64_t expected);

}  // namespace ps

#endif  // PS_BENCH_BENCHMARK_H_
