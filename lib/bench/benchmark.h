// Benchmarks as data: what each measures, what it needs, and what to print beside it.  Used by the runner
// (bench/runner.h) and by the suites.
//
// Adding a benchmark is a Workload and a line in its suite's list; adding a suite is a folder, and a line in
// bench/catalog.cc.
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

// The settings with which a benchmark is made.
struct BenchSettings {
  double scale = 1;                 // of sizes: 1 is what results are quoted at, 0.01 is enough to see it run
  int threads = 1;                  // that share the work of a run
  CpuLevel cpu = best_cpu_level();  // of kernels
  std::string scratch = ".";        // folder for files that are gone at the end
  std::string cache = ".";          // folder for data made once, and kept for the next time
  std::string programs = {};        // folder of ps-train and ps-datagen of the same build
  std::string device = "cuda:0";    // of the suite `gpu`: this, another GPU, or "emulated"
  Clock clock = {};                 // of all that is timed
};

// The amount of work of one run.
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

  // The timed part.
  virtual void run() = 0;

  // Throws when the last run's answer is wrong.  Not timed.
  virtual void check() = 0;

  virtual Work work() const = 0;  // of the last run

  // Returns the figures of the last run; the report has the median of each over all runs.
  virtual std::vector<Figure> figures() const { return {}; }

  // Returns the time of the last run, if the run itself timed a part of its work, such as a pass of a
  // process; nullopt: all of run() counts.
  virtual std::optional<double> seconds() const { return std::nullopt; }
};

// Throws kUnavailable, saying why, when the machine lacks what the benchmark needs: it is then skipped.
using MakeWorkload = std::function<std::unique_ptr<Workload>(const BenchSettings&)>;

// The quantity that a bar bounds.
enum class Quantity {
  kRate,        // units a second
  kSeconds,     // of a run
  kFigure,      // the figure `of`
  kLimitShare,  // share of the limit's rate
  kPeerRate,    // times the rate of the peer `of`
  kPeerTime,    // times the seconds of the peer `of`
  kPeerFigure,  // the figure `of`, divided by the least among the peers that ran
  kThreadGain,  // times the rate at 1 thread
};

// A bar that the project is held to, of the medians at full size on two cores; bar_table.cc lists them all.
struct Bar {
  std::string what = {};  // as a report names it, but for the threads
  int threads = 1;
  Quantity quantity = Quantity::kSeconds;
  std::string of = {};    // the figure's or the peer's name
  std::string unit = {};  // of the bounds: "s", "MB", "x"; a rate's is the benchmark's
  bool at_least = false;  // else at most
  std::optional<double> must = {}, want = {};

  // A peer that few machines have, and what was measured of it elsewhere: {"process/logistic/vw", "…: 1.2
  // s"}. It is told, as stated, where that peer did not run.
  struct Stated {
    std::string peer, text;
  } stated = {};
};

struct Benchmark {
  std::string name;  // "limits/read/huge": the suite comes first
  std::string help;  // a phrase, for --list
  std::string unit;  // what its rate counts: "B", or "rows"
  MakeWorkload make;
  bool threaded = false;   // run for each of --threads, else for 1 alone
  int most_runs = 0;       // timed, of a peer that takes minutes; 0: as many as were asked for
  std::string limit = {};  // benchmark that bounds its rate; empty: none
  // Benchmarks that do the same in another way.  The first one that runs is shown.
  std::vector<std::string> peers = {};

  // True if limit and peers are run again in turns with the benchmark: for quantities that vary with the
  // machine, such as disks and memory of virtual machines.
  bool paired = false;

  std::vector<Bar> bars = {};

  std::string suite() const { return name.substr(0, name.find('/')); }
};

// Throws kInternal "what: found, expected e" unless both agree to `tolerance`, relative to `expected`.
void expect_near(std::string_view what, double found, double expected, double tolerance);

// The same for numbers that must be equal.
void expect_equal(std::string_view what, uint64_t found, uint64_t expected);

}  // namespace ps

#endif  // PS_BENCH_BENCHMARK_H_
