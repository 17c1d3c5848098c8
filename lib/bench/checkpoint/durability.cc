// Times steps of a trainer through a shard that writes checkpoints, with a log of the pushes that it applies
// and without a log.
#include "base/error.h"
#include "base/memory.h"
#include "bench/checkpoint/suite.h"
#include "bench/process/files.h"
#include "bench/pull_push/served_shards.h"
#include "bench/synthetic.h"
#include "config/json.h"
#include "ps/client/remote_store.h"

namespace ps {

namespace {

constexpr uint64_t kFullRows = 4'000'000, kKeysOfAStep = 10'000, kDurableSteps = 400;
constexpr int64_t kWidth = 16;
constexpr double kLearningRate = 0.125;

// Steps that pull random rows of 16 weights and push a gradient of ones to each, in step with the shard or
// asynchronously.  One owner thread.
//
// The same steps run with and without a log, in step with the shard or asynchronously.  A step's answer may
// be held back until its push is in the log on disk, and the difference between the benchmarks is the price
// of that.  The time ends when all pushes are answered.
class DurableSteps final : public Workload {
 public:
  DurableSteps(const BenchSettings& settings, bool durable, bool async)
      : steps_(scaled_samples(settings.scale, kDurableSteps)),
        rows_(scaled_samples(settings.scale, kFullRows)),
        clock_(settings.clock),
        folder_(settings.scratch),
        specs_{table_spec()},
        job_(job(durable, async, settings.cpu)),
        shards_(job_, 1, {}),
        store_(*network_, shards_.remote_options({}), job_.consistency, specs_) {}

  void run() override {
    const double start = clock_(), start_cpu = shards_.cpu_seconds();
    for (uint64_t i = 0; i < steps_; ++i) step();
    store_.finish_pushes();
    seconds_ = clock_() - start;
    cpu_seconds_ = shards_.cpu_seconds() - start_cpu;
  }

  // Each push has moved each weight of its rows by the learning rate.  The sum over all weights is
  // therefore -rate x width x (rows pushed), whichever rows they were; the half rounds to the next whole
  // number.  A weight is a multiple of 1/8, so nothing is lost by rounding.
  void check() override {
    if (done_ == 0) fail(Code::kInternal, "nothing was pushed");
    const std::vector<uint64_t> keys = store_.keys(0);
    std::vector<float> weights(keys.size() * kWidth);
    store_.read_rows(0, keys, weights.data());
    double sum = 0;
    for (float weight : weights) sum -= weight;
    const auto pushed = static_cast<uint64_t>(sum / kLearningRate / static_cast<double>(kWidth) + 0.5);
    expect_equal("rows pushed", pushed, done_ * num_keys());
  }

  Work work() const override { return {.items = static_cast<double>(steps_)}; }
  std::optional<double> seconds() const override { return seconds_; }
  std::vector<Figure> figures() const override {
    return {{"ms a step", 1e3 * seconds_ / static_cast<double>(steps_)},
            {"shard's CPU ms a step", 1e3 * cpu_seconds_ / static_cast<double>(steps_)}};
  }

 private:
  static ParameterSpec table_spec() {
    ParameterSpec spec;
    spec.name = "table";
    spec.kind = ParameterKind::kRows;
    spec.sparse = true;
    spec.cols = kWidth;
    return spec;
  }

  ServedJob job(bool durable, bool async, CpuLevel cpu) const {
    ServedJob job;
    job.fingerprint = Json::object();
    job.parameters = [this](const DataSchema&) { return specs_; };
    job.optimizers = make_optimizer_plan({{"type", "sgd"}, {"learning_rate", kLearningRate}}, "sum", cpu);
    job.consistency.async = async;
    job.checkpoints.directory = folder_.path("");
    job.checkpoints.job = Json::object();
    job.checkpoints.durable = durable;
    return job;
  }

  uint64_t num_keys() const { return std::min(kKeysOfAStep, std::max<uint64_t>(1, rows_ / 4)); }

  // Pulls and pushes keys that are spread evenly over the table; each step has other keys.  Key i of a step
  // is in the i-th stretch of `stride` keys, so keys ascend and differ, as a plan requires.
  void step() {
    const uint64_t stride = rows_ / num_keys();
    plan_.keys.resize(num_keys());
    for (uint64_t i = 0; i < plan_.keys.size(); ++i) plan_.keys[i] = i * stride + (done_ * 7 + i) % stride;
    store_.pull({&plan_, 1}, PullMode::kTrain, views_);
    std::fill_n(views_[0].row_gradients, plan_.keys.size() * kWidth, 1.0f);
    store_.push({&plan_, 1}, views_, {1, 0});
    ++done_;
  }

  const uint64_t steps_, rows_;
  const Clock clock_;
  const TemporaryFolder folder_;
  const std::vector<ParameterSpec> specs_;
  const ServedJob job_;
  ServedShards shards_;
  const std::unique_ptr<Transport> network_ = make_network();
  RemoteStore store_;
  KeyPlan plan_;
  std::vector<ParameterView<float>> views_;
  uint64_t done_ = 0;  // steps of all runs
  double seconds_ = 0, cpu_seconds_ = 0;
};

MakeWorkload make(bool durable, bool async) {
  return [durable, async](const BenchSettings& settings) {
    return std::make_unique<DurableSteps>(settings, durable, async);
  };
}

}  // namespace

// In step with the shard, a trainer waits for the log in each step; asynchronously, later steps hide the
// wait.
std::vector<Benchmark> checkpoint_durability_benchmarks() {
  const std::string what = "pull and push 10,000 rows of 16 through a server, in step with it";
  const std::string async = "the same without waiting for others";
  return {
      {.name = "checkpoint/durability/none", .help = what, .unit = "steps", .make = make(false, false)},
      {.name = "checkpoint/durability/log",
       .help = what + ", logged",
       .unit = "steps",
       .make = make(true, false)},
      {.name = "checkpoint/durability/none/async", .help = async, .unit = "steps", .make = make(false, true)},
      {.name = "checkpoint/durability/log/async",
       .help = async + ", logged",
       .unit = "steps",
       .make = make(true, true)},
  };
}

}  // namespace ps
