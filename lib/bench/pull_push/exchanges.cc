// Times exchanges of many rows at a time: pulls, pushes, and both in turn.
#include <algorithm>

#include "base/error.h"
#include "bench/pull_push/suite.h"
#include "bench/pull_push/table_workload.h"
#include "math/finite.h"

namespace ps {

namespace {

// Pulls one set after the other and waits for each, as a trainer does that asks for nothing ahead.  There
// are no pushes.  The answers of a pull are compared bit for bit by TableWorkload::check, with a table that
// was never on a server.  One owner thread.
class Pulls final : public TableWorkload {
 public:
  using TableWorkload::TableWorkload;

  void run() override {
    begin_run();
    Section section(*this);
    for (size_t set = 0; set < plans_.size(); ++set) {
      table_.store().pull(plan(set), PullMode::kTrain, PullScope::kAll, views_);
      done_ += plans_[set].keys.size();
    }
  }
};

// Pushes one set after the other; the time is from each call until the push is applied.  The pull of the
// same keys before it is not timed.  The pull makes the trainer's places for gradients, and brings the rows
// into the shard's caches, as in training; ColdPushes takes away this help.  Each push is timed by a
// Section of its own, and the sections of a run add up.  One owner thread.
class Pushes : public TableWorkload {
 public:
  using TableWorkload::TableWorkload;

  void run() override {
    begin_run();
    for (size_t set = 0; set < plans_.size(); ++set) {
      table_.store().pull(plan(set), PullMode::kTrain, views_);
      set_gradients(set);
      between(set);
      Section section(*this);
      push(set);
      table_.store().group().barrier();  // the shard answers after it has applied the push
      done_ += plans_[set].keys.size();
    }
  }

 protected:
  virtual void between(size_t /*set*/) {}  // called when the gradients of the push are there
};

// Pushes that also time the check that gradients are finite numbers, as the shard makes it of each push.  One
// owner thread.
class CheckedPushes final : public Pushes {
 public:
  using Pushes::Pushes;

  void run() override {
    check_seconds_ = 0;
    Pushes::run();
  }
  std::vector<Figure> figures() const override {
    std::vector<Figure> figures = Pushes::figures();
    figures.push_back({kCheckShare, check_seconds_ / *seconds()});
    return figures;
  }

 private:
  void between(size_t set) override {
    const size_t count = plans_[set].keys.size() * static_cast<size_t>(task_.width);
    const double start = clock_();
    const bool finite = all_finite(views_[0].row_gradients, count);
    check_seconds_ += clock_() - start;
    if (!finite) fail(Code::kInternal, "the gradients of the benchmark are not finite");
  }

  double check_seconds_ = 0;
};

// Pushes of cold rows: between pull and push, enough other rows are read that no cache holds the rows of
// the set.  One owner thread.
//
// others_ are keys at even distances over the whole table.  Reading them brings kCacheBytes of rows and
// index through the shard's cache, but at most half of the table, so that a small scale does not read
// everything.
class ColdPushes final : public Pushes {
 public:
  ColdPushes(const BenchSettings& settings, const TableCase& task) : Pushes(settings, task) {
    constexpr double kCacheBytes = 48e6, kIndexBytes = 17;  // bytes of index for a row
    const double row_bytes = static_cast<double>(task.width) * sizeof(float) + kIndexBytes;
    const double rows = std::max(1.0, settings.scale * task.rows);
    const double others = std::max(1.0, std::min(settings.scale * kCacheBytes / row_bytes, rows / 2));
    for (double key = 0; key < rows - 1; key += rows / others) others_.push_back(static_cast<uint64_t>(key));
    weights_.resize(others_.size() * static_cast<size_t>(task.width));
  }

 private:
  void between(size_t) override { table_.store().read_rows(0, others_, weights_.data()); }

  std::vector<uint64_t> others_;  // keys of the other rows
  std::vector<float> weights_;    // weights of the other rows
};

// Whole steps, which ask for the rows of the next step before they push the gradients of this one.  One
// owner thread.
//
// With the pull of set + 1 under way while the gradients of `set` go out, the two directions of the
// connection and the work of shard and trainer overlap.  The pull may therefore miss the step before it,
// which the staleness of ServedTable allows.  The barrier at the end waits for the last push, so that no
// work is left outside the time.
class Steps final : public TableWorkload {
 public:
  using TableWorkload::TableWorkload;

  void run() override {
    begin_run();
    Section section(*this);
    PullTicket begun;  // pull of the set that comes next
    for (size_t set = 0; set < plans_.size(); ++set) {
      begun ? table_.store().finish_pull(begun, plan(set), views_)
            : table_.store().pull(plan(set), PullMode::kTrain, views_);
      begun = set + 1 < plans_.size() ? table_.store().begin_pull(plan(set + 1)) : PullTicket{};
      set_gradients(set);
      push(set);
      done_ += plans_[set].keys.size();
    }
    table_.store().group().barrier();
  }
};

constexpr LinkShape kGigabit = {.bytes_per_second = 125e6, .latency = std::chrono::microseconds(100)};

// Returns the pulls.  The sizes go from 100 keys, at which a request's fixed cost decides, to millions, at
// which bytes do; there are as many sets as make a run long enough to time.  The width of 1 shows the bytes
// that keys take, that of 256 shows values alone.  10 million rows of 1 in order stand beside published
// figures of ps-lite.
std::vector<TableCase> pull_cases() {
  return {
      {.name = "100-of-16",
       .help = "100 random keys of a table of 4 million rows of 16",
       .keys = 100,
       .sets = 1024},
      {.name = "10k-of-16", .help = "10,000 random keys"},
      {.name = "100k-of-16", .help = "100,000 random keys", .keys = 1e5, .sets = 8},
      {.name = "1M-of-16", .help = "a million random keys", .keys = 1e6, .sets = 2},
      {.name = "10k-of-1", .help = "10,000 random keys of 4 million rows of 1", .width = 1},
      {.name = "10M-of-1",
       .help = "all keys of 10 million rows of 1, in order",
       .width = 1,
       .rows = 10e6,
       .keys = 10e6,
       .sets = 1},
      {.name = "10k-of-256", .help = "10,000 random keys of 400,000 rows of 256", .width = 256, .rows = 4e5},
      {.name = "10k-of-16/f16",
       .help = "10,000 random keys, weights on their way as f16",
       .type = RowType::kF16},
      {.name = "100k-of-16/tls",
       .help = "100,000 random keys, encrypted by TLS",
       .keys = 1e5,
       .sets = 8,
       .tls = true},
      {.name = "10k-of-16/2-ports", .help = "10,000 random keys, a table on two shards", .ports = 2},
      {.name = "10k-of-16/1G",
       .help = "10,000 random keys, over a link of 1 Gbit/s and 0.2 ms",
       .sets = 8,
       .link = kGigabit},
  };
}

// Returns the pushes: two numbers of keys with rows of 16, the first with TLS beside it, and rows of 1, at
// random and in order, beside published figures of ps-lite.
std::vector<TableCase> push_cases() {
  return {
      {.name = "10k-of-16", .help = "gradients of 10,000 random keys, until they are applied by sgd"},
      {.name = "100k-of-16", .help = "gradients of 100,000 random keys", .keys = 1e5, .sets = 8},
      {.name = "100k-of-16/tls",
       .help = "gradients of 100,000 random keys, encrypted by TLS",
       .keys = 1e5,
       .sets = 8,
       .tls = true},
      {.name = "10k-of-1", .help = "gradients of 10,000 random keys of rows of 1", .width = 1},
      {.name = "10M-of-1",
       .help = "gradients of all keys of 10 million rows of 1",
       .width = 1,
       .rows = 10e6,
       .keys = 10e6,
       .sets = 1},
  };
}

TableCase finite_case() {
  TableCase task = push_cases()[0];
  task.name = "finite";
  task.help = "the same, and the share of it that the check takes which finds gradients that are not finite";
  return task;
}

// Returns whole steps: with rows that are cheap to step, with Adam, which has two numbers more for each
// weight, and over a link on which the bytes decide.
std::vector<TableCase> step_cases() {
  return {
      {.name = "10k-of-16", .help = "pulled and pushed, the next keys asked for ahead"},
      {.name = "10k-of-1", .help = "the same with rows of 1", .width = 1},
      {.name = "10k-of-16/adam", .help = "the same with Adam", .optimizer = "adam"},
      {.name = "10k-of-16/1G",
       .help = "the same over a link of 1 Gbit/s and 0.2 ms",
       .sets = 8,
       .link = kGigabit},
  };
}

// Returns cases in which the server is the bottleneck.  The rows are those of a table beyond the caches, each
// set is in another part of memory, and Adam steps them.  The trainer has little to do, since it pushes
// gradients that it need not compute, and it has five steps in flight, so that no port waits for it.
std::vector<TableCase> busy_cases() {
  const TableCase one = {
      .name = "adam",
      .help =
          "10,000 keys of 4 million rows of 16 at a time, each of 128 sets in turn pulled, and "
          "pushed to Adam: a shard has three times its trainer's work",
      .sets = 128,
      .optimizer = "adam"};
  TableCase two = one;
  two.name = "adam/2-ports";
  two.help = "the same on two shards, of one port each";
  two.ports = 2;
  return {one, two};
}

// Adds a benchmark pull-push/KIND/NAME for each case; the rate of TCP on the loopback device is its limit.
template <class Kind>
void add_cases(const char* kind, const std::vector<TableCase>& cases, std::vector<Benchmark>& out) {
  for (const TableCase& task : cases) {
    out.push_back(
        {.name = cat("pull-push/", kind, "/", task.name),
         .help = task.help,
         .unit = "keys",
         .make = [task](const BenchSettings& settings) { return std::make_unique<Kind>(settings, task); },
         .limit = "limits/tcp/rate"});
  }
}

}  // namespace

// A variant with two ports or with TLS stands beside the case that it is named after, and both cases that
// Redis can do stand beside Redis.  TLS runs in turns with the plain case, since its bar is their ratio.
std::vector<Benchmark> exchange_benchmarks() {
  std::vector<Benchmark> out;
  add_cases<Pulls>("pull", pull_cases(), out);
  add_cases<Pushes>("push", push_cases(), out);
  add_cases<CheckedPushes>("push", {finite_case()}, out);
  add_cases<ColdPushes>("push-cold", {push_cases()[0]}, out);
  add_cases<Steps>("step", step_cases(), out);
  add_cases<Steps>("busy", busy_cases(), out);
  for (Benchmark& benchmark : out) {
    const bool has_redis =
        benchmark.name == "pull-push/pull/10k-of-16" || benchmark.name == "pull-push/push/10k-of-16";
    if (has_redis) benchmark.peers = {benchmark.name + "/redis"};
    for (const char* variant : {"/2-ports", "/tls"}) {
      const size_t end = benchmark.name.find(variant);
      if (end == std::string::npos) continue;
      benchmark.peers = {benchmark.name.substr(0, end)};
      benchmark.paired = std::string_view(variant) == "/tls";
    }
  }
  return out;
}

}  // namespace ps
