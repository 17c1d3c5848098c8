// Times operations with batches of random ids on a table of 10 million rows of 16 weights with AdaGrad: rows
// are found, read, updated and added.
#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "bench/peers/maps.h"
#include "bench/resident.h"
#include "bench/table/suite.h"
#include "table/sparse_table.h"

namespace ps {

namespace {

constexpr double kFullRows = 10e6;
constexpr uint64_t kBatchKeys = 8192;
constexpr double kFullBatches = 256;  // number of different batches: 2 million rows, which no cache holds

// Returns the number of rows.  Row r of a table has the id hash_key(r), so that ids are spread over all of 64
// bits.
uint64_t num_rows(double scale) {
  return std::max<uint64_t>(kBatchKeys, static_cast<uint64_t>(scale * kFullRows));
}

// Returns the plan of a batch with one example, whose ids are `keys`: its unique keys, as a trainer pulls
// them.
KeyPlan plan_of(KeyPlanner& planner, std::span<const uint64_t> keys) {
  std::vector<uint32_t> offsets = {0, static_cast<uint32_t>(keys.size())};
  KeyList list{offsets, keys};
  KeyPlan plan;
  planner.plan({&list, 1}, plan);
  plan.uses.clear();  // the uses refer to `offsets`, and only layers need them
  return plan;
}

// Returns plans of all rows, each with kBatchKeys new ones.
std::vector<KeyPlan> plans_of_all(uint64_t rows) {
  KeyPlanner planner;
  std::vector<KeyPlan> plans;
  std::vector<uint64_t> keys;
  for (uint64_t row = 0; row < rows;) {
    keys.clear();
    for (; row < rows && keys.size() < kBatchKeys; ++row) keys.push_back(hash_key(row));
    plans.push_back(plan_of(planner, keys));
  }
  return plans;
}

// Returns plans of rows that are drawn at random.  A plan has fewer keys than kBatchKeys if a row is drawn
// twice, so the amount of work is counted from the plans.
std::vector<KeyPlan> random_plans(uint64_t rows, double scale) {
  KeyPlanner planner;
  std::vector<KeyPlan> plans;
  std::vector<uint64_t> keys(kBatchKeys);
  size_t batches = std::max<size_t>(2, static_cast<size_t>(scale * kFullBatches));
  for (uint64_t draw = 0; plans.size() < batches;) {
    // The counters are beyond the rows, so that no draw is the hash of a row itself.
    for (uint64_t& key : keys) key = hash_key(hash_key(rows + draw++) % rows);
    plans.push_back(plan_of(planner, keys));
  }
  return plans;
}

// The base of the benchmarks find, pull and push: a full table, and batches of its ids.  One owner thread;
// a table may use the threads of device_.
//
// Each run passes over all batches `passes_` times.  The rows of one pass are more than any cache holds, so
// that a row is not in the cache when its turn comes again: a look-up costs at least lines_ random lines of
// memory, and the rate stands beside that of limits/lines.  All kinds of tables get the same plans.
class Batches : public Workload {
 public:
  Batches(const BenchSettings& settings, const MakeRowTable& make, int passes)
      : passes_(passes),
        device_(settings.threads, settings.cpu),
        rows_(num_rows(settings.scale)),
        table_(make(device_)) {
    for (const KeyPlan& plan : plans_of_all(rows_)) table_->insert(plan);
    plans_ = random_plans(rows_, settings.scale);
    for (const KeyPlan& plan : plans_) keys_ += plan.keys.size();
  }

  Work work() const override {
    double rows = static_cast<double>(keys_) * passes_;
    return {.bytes = rows * kBenchRowBytes, .items = rows, .of_limit = rows * lines_};
  }

 protected:
  template <class Body>
  void for_batches(Body&& body) {
    for (int pass = 0; pass < passes_; ++pass) {
      for (const KeyPlan& plan : plans_) body(plan);
    }
  }

  const int passes_;  // number of passes over all batches in a run
  Device device_;
  const uint64_t rows_;
  const std::unique_ptr<RowTable> table_;
  std::vector<KeyPlan> plans_;
  uint64_t keys_ = 0;  // number of keys of all plans
  double lines_ = 1;   // least number of random cache lines that a row costs
};

// Finds rows.  A look-up is short, so a run makes more passes than those of pull and push.  One owner
// thread.
class Find final : public Batches {
 public:
  Find(const BenchSettings& settings, const MakeRowTable& make) : Batches(settings, make, 10) {}

  void run() override {
    found_ = 0;
    for_batches([&](const KeyPlan& plan) { found_ += table_->find(plan); });
  }

  void check() override {
    expect_equal("ids found", found_, keys_ * static_cast<uint64_t>(passes_));
    expect_equal("rows of the table", table_->size(), rows_);
  }

 private:
  uint64_t found_ = 0;
};

// Finds rows and reads their weights.  The constructor steps the rows, so that weights are not zero, and
// takes the expected sum row by row from the table itself: all columns of a row are equal, since all its
// gradients are.  One owner thread.
class Pull final : public Batches {
 public:
  Pull(const BenchSettings& settings, const MakeRowTable& make) : Batches(settings, make, 2) {
    lines_ = 2;  // a line of the index, and one of the row
    for (const KeyPlan& plan : plans_) table_->update(plan);
    for (const KeyPlan& plan : plans_) {
      for (uint64_t key : plan.keys) expected_ += static_cast<double>(table_->weight(key)) * kBenchWidth;
    }
    expected_ *= passes_;
  }

  void run() override {
    sum_ = 0;
    for_batches([&](const KeyPlan& plan) { sum_ += table_->sum(plan); });
  }

  // A batch is summed in single precision, so the tolerance is wide.
  void check() override { expect_near("sum of weights", sum_, expected_, 1e-4); }

 private:
  double sum_ = 0, expected_ = 0;
};

// Finds rows and steps them.  One owner thread.
class Push final : public Batches {
 public:
  Push(const BenchSettings& settings, const MakeRowTable& make) : Batches(settings, make, 2) { lines_ = 2; }

  void run() override {
    ++runs_;
    for_batches([&](const KeyPlan& plan) { table_->update(plan); });
  }

  // A row that took n steps has w = -rate (1 / sqrt(1 + epsilon) + … + 1 / sqrt(n + epsilon)).  `keys` has
  // a key once for each plan that it is in, so a run of equal keys says how many steps a pass makes on its
  // row; runs_ counts all runs, those of the warm-up too.
  void check() override {
    std::vector<uint64_t> keys;
    for (const KeyPlan& plan : plans_) keys.insert(keys.end(), plan.keys.begin(), plan.keys.end());
    std::sort(keys.begin(), keys.end());
    for (size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
      end = static_cast<size_t>(std::upper_bound(keys.begin(), keys.end(), keys[begin]) - keys.begin());
      int64_t steps = std::max<int64_t>(1, runs_) * passes_ * static_cast<int64_t>(end - begin);
      // A float is rounded at each step.
      expect_near("weight", table_->weight(keys[begin]), weight_after(steps), 1e-4);
    }
  }

 private:
  double weight_after(int64_t steps) {
    while (static_cast<int64_t>(expected_.size()) <= steps) {
      double n = static_cast<double>(expected_.size());
      expected_.push_back(expected_.back() - kBenchRate / std::sqrt(n + kBenchEpsilon));
    }
    return expected_[static_cast<size_t>(steps)];
  }

  int64_t runs_ = 0;
  std::vector<double> expected_ = {0};
};

// The memory that is warmed before a table grows, in multiples of its rows' bytes.  It is more than any of
// the tables takes.
constexpr double kWarmShare = 3;

// Fills an empty table, a batch of new ids at a time.  One owner thread; a table may use the threads of
// device_.
//
// prepare() frees the table of the run before, warms three times the memory that the rows take, so that a
// host which gives memory late is not measured, and notes the resident bytes.  The table is destroyed and
// made there, so a run times insertions alone.  wall_ and cpu_ have the seconds of each batch: a table that
// doubles its memory at once makes a few batches take very long, which the figure p99.9/median shows and
// the rate hides.
class Grow final : public Workload {
 public:
  Grow(const BenchSettings& settings, const MakeRowTable& make)
      : make_(make),
        clock_(settings.clock),
        device_(settings.threads, settings.cpu),
        rows_(num_rows(settings.scale)),
        plans_(plans_of_all(rows_)) {
    make_(device_);  // throws here if the library is not installed
  }

  void prepare() override {
    table_.reset();
    warm_free_memory(static_cast<uint64_t>(kWarmShare * static_cast<double>(rows_) * kBenchRowBytes));
    before_ = begin_peak();
    table_ = make_(device_);
    wall_.clear(), cpu_.clear();
    wall_.reserve(plans_.size()), cpu_.reserve(plans_.size());
  }

  void run() override {
    for (const KeyPlan& plan : plans_) {
      double wall = clock_(), cpu = thread_cpu_seconds();
      table_->insert(plan);
      wall_.push_back(clock_() - wall), cpu_.push_back(thread_cpu_seconds() - cpu);
    }
    peak_ = peak_memory_bytes() - before_;
    steady_ = resident_bytes() - before_;
  }

  void check() override {
    expect_equal("rows of the table", table_->size(), rows_);
    uint64_t found = 0;
    for (const KeyPlan& plan : plans_) found += table_->find(plan);
    expect_equal("ids found", found, rows_);
  }

  Work work() const override {
    double rows = static_cast<double>(rows_);
    return {.bytes = rows * kBenchRowBytes, .items = rows};
  }

  // Returns the memory in multiples of the bytes of the rows, and the slow batches in multiples of the median
  // batch, by the clock and by the processor time of this thread, which does not count the time of other
  // programs.
  std::vector<Figure> figures() const override {
    double bytes = static_cast<double>(rows_) * kBenchRowBytes;
    return {{"memory", static_cast<double>(steady_) / bytes},
            {"peak", static_cast<double>(peak_) / bytes},
            {"p99.9/median", slow_share(wall_)},
            {"p99.9/median CPU", slow_share(cpu_)}};
  }

 private:
  static double slow_share(const std::vector<double>& seconds) {
    return quantile(seconds, 0.999) / median(seconds);
  }

  const MakeRowTable make_;
  const Clock clock_;
  Device device_;
  const uint64_t rows_;
  const std::vector<KeyPlan> plans_;
  std::unique_ptr<RowTable> table_;
  uint64_t before_ = 0, steady_ = 0, peak_ = 0;  // resident bytes
  std::vector<double> wall_, cpu_;               // seconds of each batch of the last run
};

// An operation on tables, which every kind of table is measured with.
struct Operation {
  const char *name, *help, *limit;
  std::unique_ptr<Workload> (*make)(const BenchSettings& settings, const MakeRowTable& make);
};

template <class Kind>
std::unique_ptr<Workload> make_workload(const BenchSettings& settings, const MakeRowTable& make) {
  return std::make_unique<Kind>(settings, make);
}

constexpr Operation kPull = {"pull", "rows found, and their 16 weights read", "limits/lines",
                             make_workload<Pull>};
constexpr Operation kPush = {"push", "rows found, and 16 weights moved by AdaGrad", "limits/lines",
                             make_workload<Push>};
constexpr Operation kGrow = {"grow", "rows added to an empty table; memory in multiples of the rows' bytes",
                             "", make_workload<Grow>};
constexpr Operation kOperations[] = {
    {"find", "rows found by their ids", "limits/lines", make_workload<Find>}, kPull, kPush, kGrow};

// A kind of table that SparseTable is compared with.
struct Peer {
  const char* name;
  std::unique_ptr<RowTable> (*make)();
};

constexpr Peer kPeers[] = {{"libcuckoo", make_libcuckoo_table},
                           {"flat_hash_map", make_absl_table},
                           {"robin_map", make_robin_map_table},
                           {"unordered_map", make_unordered_map_table}};

// The scale of tables with a spill, which have fewer rows than the others, and the share of the rows' bytes
// that they have as memory.
constexpr double kSpilledScale = 0.2, kSpilledRoom = 0.25;

using MakeSpilled = std::function<std::unique_ptr<RowTable>(Device& device, const std::string& directory,
                                                            uint64_t memory_bytes)>;

// Returns a benchmark of a table with a quarter of its rows' bytes as memory, so that most rows are read
// from disk; it has fewer rows than the others, since each takes much longer.
Benchmark spilled_benchmark(const std::string& name, const std::string& help, const Operation& operation,
                            const MakeSpilled& make) {
  return {
      .name = name, .help = help, .unit = "rows", .make = [&operation, make](const BenchSettings& settings) {
        BenchSettings smaller = settings;
        smaller.scale *= kSpilledScale;
        const double room = kSpilledRoom * static_cast<double>(num_rows(smaller.scale)) * kBenchRowBytes;
        return operation.make(smaller, [make, room, directory = smaller.scratch](Device& device) {
          return make(device, directory, static_cast<uint64_t>(room));
        });
      }};
}

void add_spilled(const Operation& operation, std::vector<Benchmark>& out) {
  const std::string name = cat("table/spill/", operation.name), peer = name + "/rocksdb";
  const std::string help = cat(operation.help, ", of a table of four times its memory");
  out.push_back(spilled_benchmark(peer, help, operation,
                                  [](Device&, const std::string& directory, uint64_t memory_bytes) {
                                    return make_rocksdb_table(directory, memory_bytes);
                                  }));
  out.push_back(spilled_benchmark(name, help, operation, make_spilled_rows));
  out.back().peers.push_back(peer);
}

Benchmark benchmark(const std::string& name, const Operation& operation, const MakeRowTable& make) {
  return {
      .name = name,
      .help = operation.help,
      .unit = "rows",
      .make = [&operation, make](const BenchSettings& settings) { return operation.make(settings, make); },
      .limit = operation.limit};
}

}  // namespace

// For each operation the peers come first, then SparseTable, which stands beside them; peers use one
// thread, since their maps are not shared.  Tables with a spill stand beside RocksDB with the same memory.
std::vector<Benchmark> table_benchmarks() {
  std::vector<Benchmark> out;
  for (const Operation& operation : kOperations) {
    std::string name = cat("table/", operation.name);
    Benchmark own = benchmark(name, operation, make_sparse_rows);
    own.threaded = true;
    for (const Peer& peer : kPeers) {
      own.peers.push_back(cat(name, "/", peer.name));
      out.push_back(benchmark(own.peers.back(), operation, [&peer](Device&) { return peer.make(); }));
    }
    out.push_back(own);
  }
  add_spilled(kPull, out);
  add_spilled(kPush, out);
  add_spilled(kGrow, out);
  return out;
}

}  // namespace ps
