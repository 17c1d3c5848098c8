// Times pulls of one row at a time, and the work of a shard whose trainer asks for nothing.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/statistics.h"
#include "bench/pull_push/suite.h"
#include "bench/pull_push/table_workload.h"

namespace ps {

namespace {

const TableCase kOneKey = {
    .name = "round-trip", .help = "one row of 16, there and back", .keys = 1, .sets = 64};

TableCase locally(TableCase task) {
  task.local = true;
  return task;
}

TableCase encrypted(TableCase task) {
  task.tls = true;
  return task;
}

// Pulls of one row.  One owner thread.
//
// The keys of 64 sets are taken in turn, so that the row is not always the same, yet in the cache: a trip
// measures sockets, wake-ups and messages, and no memory.  It counts as one of the limit's trips of 64
// bytes.
class RoundTrips final : public TableWorkload {
 public:
  RoundTrips(const BenchSettings& settings, const TableCase& task)
      : TableWorkload(settings, task),
        trips_(std::max<uint64_t>(64, static_cast<uint64_t>(settings.scale * 8192))) {}

  void run() override {
    begin_run();
    micros_.clear();
    Section section(*this);
    for (; done_ < trips_; ++done_) {
      const double start = clock_();
      table_.store().pull(plan(done_ % plans_.size()), PullMode::kTrain, PullScope::kAll, views_);
      micros_.push_back(1e6 * (clock_() - start));
    }
  }

  // The limit counts round trips.
  Work work() const override {
    Work work = TableWorkload::work();
    work.of_limit = work.items;
    return work;
  }

  std::vector<Figure> figures() const override {
    return {{kMicroseconds, median(micros_)}, {"µs, 99 of 100", quantile(micros_, 0.99)}};
  }

 private:
  const uint64_t trips_;
  std::vector<double> micros_;
};

// Measures the processor time of a shard while a connected trainer asks for nothing.  The pull before it
// makes sure that the connection stands and that the shard has served.  The clock divides, since a sleep
// may take longer than it was asked to.  One owner thread.
class Idle final : public TableWorkload {
 public:
  explicit Idle(const BenchSettings& settings)
      : TableWorkload(settings, kOneKey), seconds_(std::max(0.02, std::min(1.0, settings.scale))) {}

  void run() override {
    begin_run();
    table_.store().pull(plan(0), PullMode::kTrain, views_);
    const double before = table_.shards().cpu_seconds();
    const double start = clock_();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    percent_ = 100 * (table_.shards().cpu_seconds() - before) / (clock_() - start);
    done_ = 1;
  }

  std::optional<double> seconds() const override { return std::nullopt; }
  std::vector<Figure> figures() const override { return {{kIdlePercent, percent_}}; }

 private:
  const double seconds_;
  double percent_ = 0;
};

}  // namespace

// Trips over TCP stand beside a raw message of 64 bytes there and back, and encrypted trips run in turns
// with plain ones.
std::vector<Benchmark> latency_benchmarks() {
  return {
      {.name = "pull-push/round-trip",
       .help = kOneKey.help,
       .unit = "trips",
       .make = [](const BenchSettings& settings) { return std::make_unique<RoundTrips>(settings, kOneKey); },
       .limit = "limits/tcp/round-trip"},
      {.name = "pull-push/round-trip/local",
       .help = "the same over a Unix socket",
       .unit = "trips",
       .make =
           [](const BenchSettings& settings) {
             return std::make_unique<RoundTrips>(settings, locally(kOneKey));
           },
       .limit = "limits/tcp/round-trip"},
      {.name = "pull-push/round-trip/tls",
       .help = "the same encrypted by TLS",
       .unit = "trips",
       .make =
           [](const BenchSettings& settings) {
             return std::make_unique<RoundTrips>(settings, encrypted(kOneKey));
           },
       .limit = "limits/tcp/round-trip",
       .peers = {"pull-push/round-trip"},
       .paired = true},
      {.name = "pull-push/idle",
       .help = "one pull, then nothing for a second",
       .unit = "trips",
       .make = [](const BenchSettings& settings) { return std::make_unique<Idle>(settings); }}};
}

}  // namespace ps
