// Compares pulls and pushes of a shard while its checkpoint is written with the same pulls and pushes without
// a checkpoint.  A trainer, a shard as in ps-serve, and the thread that writes share the machine.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/statistics.h"
#include "bench/checkpoint/suite.h"
#include "bench/process/files.h"
#include "bench/pull_push/table_workload.h"
#include "bench/resident.h"
#include "checkpoint/checkpoint_reader.h"

namespace ps {

namespace {

// The number of steps without a checkpoint: about as many as there are while one of full size is written.
constexpr uint64_t kServingSteps = 1500;

TableCase serving_case(const std::string& checkpoints) {
  return {.name = "serving", .help = "", .sets = 64, .optimizer = "adagrad", .checkpoints = checkpoints};
}

double sum(const std::vector<double>& seconds) {
  double total = 0;
  for (double one : seconds) total += one;
  return total;
}

// The times of steps on a shard.  A step is a pull, and a push until it is applied.
struct Served {
  std::vector<double> seconds;  // seconds of each step
  double server_cpu = 0;

  double rate() const { return static_cast<double>(seconds.size()) / sum(seconds); }
  double cpu_rate() const { return static_cast<double>(seconds.size()) / server_cpu; }
};

// The folder is a base class, so that it is there before the table that writes to it.
struct ServingFolder {
  explicit ServingFolder(const std::string& parent) : folder(parent) {}
  const TemporaryFolder folder;
};

// Steps without a checkpoint, then steps until a checkpoint is written.  One owner thread.
//
// A run first makes steps_ steps alone, then asks the shard for a checkpoint and goes on with steps until
// the shard says that it is written.  Both halves take the same sets in turn, so that their rates and the
// tails of their requests may be compared: the checkpoint's price is the difference.  Pulls and pushes are
// requests of their own in `seconds`.
class Serving final : private ServingFolder, public TableWorkload {
 public:
  explicit Serving(const BenchSettings& settings)
      : ServingFolder(settings.scratch),
        TableWorkload(settings, serving_case(folder.path("checkpoints"))),
        steps_(std::max<uint64_t>(16, static_cast<uint64_t>(settings.scale * kServingSteps))),
        warm_memory_(served_bytes(settings.scale)) {}

  // Does not warm memory, as other benchmarks do: a run is so long that a host would take free memory back in
  // the middle of it.  warm_memory_ holds memory instead.
  void prepare() override {}

  // The checkpoint's end comes as a message from the shard, which the trainer's thread handles while it
  // waits in a pull or a push: `ended` needs no lock.
  void run() override {
    begin_run();
    uint64_t left = steps_;
    alone_ = serve([&left] { return left-- > 0; });
    AskedCheckpoint checkpoint;
    bool ended = false;
    table_.store().checkpoints().ask(-1, [&](const AskedCheckpoint& end) {
      checkpoint = end;
      ended = true;
    });
    with_ = serve([&ended] { return !ended; });
    if (!checkpoint.counts) fail(Code::kInternal, "the checkpoint does not count: ", checkpoint.text);
    written_ = join_path(folder.path("checkpoints"), checkpoint.text);
  }

  // The checkpoint has the rows as they were when it began, and the rows that are served are right after
  // it.  The table in this process is brought to the step at which the checkpoint began, which the manifest
  // says, and compared with the files row by row; then it takes the other steps, for the usual check.
  void check() override {
    if (written_.empty()) fail(Code::kInternal, "no checkpoint was written");
    const CheckpointReader reader(written_);
    apply_local_steps(static_cast<size_t>(reader.manifest().step) - num_local_steps());
    uint64_t rows = 0;
    for (uint32_t partition : reader.partitions("table")) {
      auto cursor = reader.rows("table", partition);
      while (const RowBlock* block = cursor->next()) rows += expect_local(*block);
    }
    expect_equal("rows written", rows, num_rows());
    TableWorkload::check();
  }

  Work work() const override { return {.items = static_cast<double>(done_)}; }
  std::optional<double> seconds() const override { return sum(with_.seconds) + sum(alone_.seconds); }

  std::vector<Figure> figures() const override {
    const double tail = quantile(with_.seconds, 0.999) - quantile(alone_.seconds, 0.999);
    return {{kServingShare, with_.rate() / alone_.rate()},
            {kTailMilliseconds, 1e3 * tail},
            {"by the shard's CPU time", with_.cpu_rate() / alone_.cpu_rate()},
            {"alone p99.9 ms", 1e3 * quantile(alone_.seconds, 0.999)},
            {"checkpoint s", sum(with_.seconds)}};
  }

 private:
  // Makes steps while go_on() says so, each with the next set.  Gradients are written between the two
  // requests, and their time counts for neither.
  template <class GoOn>
  Served serve(GoOn&& go_on) {
    Served served;
    const double cpu = table_.shards().cpu_seconds();
    while (go_on()) {
      const size_t set = next_set_++ % plans_.size();
      const double start = clock_();
      table_.store().pull(plan(set), PullMode::kTrain, views_);
      served.seconds.push_back(clock_() - start);
      set_gradients(set);
      const double pushed = clock_();
      push(set);
      table_.store().finish_pushes();
      served.seconds.push_back(clock_() - pushed);
      done_ += plans_[set].keys.size();
    }
    served.server_cpu = table_.shards().cpu_seconds() - cpu;
    return served;
  }

  uint64_t expect_local(const RowBlock& block) {
    const size_t width = static_cast<size_t>(task_.width);
    weights_.resize(block.size() * width);
    table_.local().read_rows(0, block.keys, weights_.data());
    for (size_t i = 0; i < block.size(); ++i) {
      const float* row = block.values.data() + i * block.values.size() / block.size();
      if (std::memcmp(row, &weights_[i * width], width * sizeof(float)) == 0) continue;
      fail(Code::kInternal, "the weights of key ", block.keys[i], " are not those when the checkpoint began");
    }
    return block.size();
  }

  const uint64_t steps_;
  const WarmMemory warm_memory_;
  size_t next_set_ = 0;
  std::vector<float> weights_;  // weights of a block of the checkpoint

  // Results of the last run.
  Served alone_, with_;
  std::string written_;  // folder of the checkpoint
};

}  // namespace

std::vector<Benchmark> checkpoint_serving_benchmarks() {
  return {
      {.name = "checkpoint/serving",
       .help = "10,000 random rows of 4 million pulled and pushed at a time while a checkpoint is written",
       .unit = "keys",
       .make = [](const BenchSettings& settings) { return std::make_unique<Serving>(settings); }}};
}

}  // namespace ps
