// Compares jobs that are trained through a shard of this process with jobs trained without, by the processor
// time that they take and by how long a trainer on a slow link waits.  Each run is one more pass over data in
// memory.
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "bench/jobs.h"
#include "bench/process/suite.h"
#include "bench/pull_push/served_shards.h"
#include "bench/pull_push/suite.h"
#include "bench/resident.h"
#include "bench/train/cases.h"
#include "bench/train/memory_passes.h"
#include "job/fingerprint.h"
#include "ps/client/ahead_store.h"
#include "ps/client/remote_store.h"
#include "store/local_store.h"

namespace ps {

namespace {

// A job, the data that it is trained on, and the way to its shard.
struct ServedTrainingCase {
  const char *name, *help;
  SyntheticKind data;
  uint64_t full_samples;
  int batch_size;
  ModelAndOptimizer job;
  std::optional<int> staleness = {};  // nullopt: in step with the shard
  LinkShape link = {};                // shape of the way to the shard
  bool local = false;                 // the connection is a Unix socket
  int64_t pull_ahead = 0;             // value of train.pull_ahead
};

// Returns the strategy of the case: in step with the shard, or with bounded staleness.
Json strategy_of(const ServedTrainingCase& task) {
  Json strategy = {{"type", "parameter_server"}};
  if (task.staleness) strategy.update({{"consistency", "staleness"}, {"staleness", *task.staleness}});
  return strategy;
}

Job job_of(const ServedTrainingCase& task) {
  Job job = memory_job(task.name, task.job, strategy_of(task));
  job.train.pull_ahead = task.pull_ahead;
  return job;
}

// Trains a job in one process.  One owner thread.
class Alone : public LocalPasses {
 public:
  Alone(const ServedTrainingCase& task, const Job& job, const SyntheticData& data, CpuLevel cpu)
      : LocalPasses(job, data, task.batch_size, 1, cpu) {}
};

// Trains a job through a shard.  One owner thread, which is the trainer's.
class Served {
 public:
  Served(const ServedTrainingCase& task, const Job& job, const SyntheticData& data, CpuLevel cpu)
      : passes_(job, data, task.batch_size, 1, cpu),
        served_(served_job(job, cpu)),
        shards_(served_, 1, task.link, task.local),
        network_(make_network({.local = task.local})),
        store_(*network_, shards_.remote_options(passes_.schema()), served_.consistency,
               passes_.network().parameters()) {
    if (task.pull_ahead == 0) {
      passes_.begin(store_, store_.group());
      return;
    }
    const std::vector<ParameterSpec>& parameters = passes_.network().parameters();
    local_ = std::make_unique<LocalStore>(parameters, served_.optimizers, available_memory_bytes(),
                                          passes_.device());
    ahead_ = std::make_unique<AheadStore>(parameters, static_cast<size_t>(task.pull_ahead), store_, *local_);
    passes_.begin(*ahead_, store_.group());
  }

  MemoryPasses& passes() { return passes_; }

 private:
  MemoryPasses passes_;
  const ServedJob served_;
  ServedShards shards_;
  const std::unique_ptr<Transport> network_;
  RemoteStore store_;
  std::unique_ptr<LocalStore> local_;  // this and ahead_ are null if nothing is pulled ahead
  std::unique_ptr<AheadStore> ahead_;
};

// Passes of a job, which a `Home`, Alone or Served, trains.  One owner thread.
//
// The processor time of a run is that of the whole process: it holds the trainer and the shard, and the
// link between them where the case has one.  Memory is warmed before, since the first touch of new pages
// would count as processor time of whichever side takes them.
template <class Home>
class JobPasses final : public Workload {
 public:
  JobPasses(const BenchSettings& settings, const ServedTrainingCase& task)
      : task_(task),
        job_(job_of(task)),
        data_(make_synthetic(task.data, settings.scale, task.full_samples)),
        home_(task, job_, data_, settings.cpu),
        untrained_cost_(home_.passes().test()),
        warm_bytes_(served_bytes(settings.scale)) {}

  void prepare() override { warm_free_memory(warm_bytes_); }

  void run() override {
    const double before = process_cpu_seconds();  // time of the trainer's thread and of the shard's
    home_.passes().train();
    cpu_seconds_ = process_cpu_seconds() - before;
  }

  // In step with its shard, a trainer has the same loss as one without a shard, to the last bit.
  void check() override {
    MemoryPasses& passes = home_.passes();
    expect_equal("examples trained on", static_cast<uint64_t>(passes.result().samples),
                 data_.digest.examples);
    const double cost = passes.test();
    if (!(cost < untrained_cost_)) {
      fail(Code::kInternal, "cost after training: ", cost, ", expected less than ", untrained_cost_);
    }
    if (task_.staleness) return;
    Alone alone(task_, job_, data_, passes.device().cpu());
    while (alone.passes().passes() < passes.passes()) alone.passes().train();
    const double expected = alone.passes().result().average_cost;
    if (passes.result().average_cost == expected) return;
    fail(Code::kInternal, "cost of the pass: ", passes.result().average_cost, ", expected ", expected);
  }

  Work work() const override { return data_.training(); }

  std::vector<Figure> figures() const override {
    const Json& times = home_.passes().result().times;
    auto percent = [&](const char* part) {
      return 100 * times.at(part).get<double>() / times.at("seconds").get<double>();
    };
    return {{kCpuSeconds, cpu_seconds_},
            {kWaitingPercent, percent("waiting_seconds")},
            {"communicating %", percent("communicating_seconds")},
            {"computing %", percent("computing_seconds")}};
  }

 private:
  const ServedTrainingCase task_;
  const Job job_;
  const SyntheticData data_;
  mutable Home home_;
  const double untrained_cost_;
  const uint64_t warm_bytes_;
  double cpu_seconds_ = 0;
};

// This model has more to compute than to send, so that waiting can be hidden.
constexpr const char* kDeep = R"({
  "layers": [{"name": "vectors", "type": "embedding", "input": "features", "size": 8, "sparse_update": true},
             {"name": "hidden1", "type": "fc", "input": "vectors", "size": 512, "activation": "tanh"},
             {"name": "hidden2", "type": "fc", "input": "hidden1", "size": 256, "activation": "tanh"},
             {"name": "score", "type": "fc", "input": "hidden2", "size": 1}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

// This model has little to compute, so that the link takes the time.
constexpr const char* kNarrow = R"({
  "layers": [{"name": "vectors", "type": "embedding", "input": "features", "size": 16, "sparse_update": true},
             {"name": "hidden", "type": "fc", "input": "vectors", "size": 32, "activation": "tanh"},
             {"name": "score", "type": "fc", "input": "hidden", "size": 1}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

constexpr int kLargeBatch = 4096;

ServedTrainingCase logistic_case() {
  return {"logistic",  "logistic regression, batches of 4096", kFortyRecords, 400000,
          kLargeBatch, {logistic_model(), adagrad(0.1, 1)}};
}

// This model moves much and computes little: a batch of 200 uses tens of thousands of ids, each with a row
// of 256.
ServedTrainingCase demo_case() {
  return {"fc-demo",
          "PaddlePaddle's sparse_binary demo, 18,182,296 x 256 x 32 x 2",
          {"sparse-binary", "records", demo_ids()},
          10000,
          kDemoBatch,
          {demo_model(), demo_optimizer()}};
}

// Staleness 2 lets a trainer begin with weights that lack its last steps, so that the 5 ms of the way and
// the bytes pass while it computes.
ServedTrainingCase deep_case() {
  return {"deep/1G",
          "rows of 8 into 512 x 256 x 1, staleness 2, over 1 Gbit/s and 5 ms more",
          kFortyRecords,
          100000,
          kLargeBatch,
          {Json::parse(kDeep), adagrad(0.001, 1e-6)},
          2,
          {.bytes_per_second = 125e6, .latency = std::chrono::microseconds(2500)}};
}

SynthOptions with_zipf(SynthOptions options, double zipf) {
  options.zipf = zipf;
  return options;
}

// The batches are small and the way is long, so that without pulling ahead nearly all of a step is a wait
// of one round trip.  Zipf's law makes batches share rows, so that rows pulled ahead must be kept right by
// later pushes.
ServedTrainingCase far_case() {
  return {"far",
          "rows of 16 into 32 x 1, batches of 128, Zipf 1.05, over a round trip of 20 ms",
          {"sparse-binary", "records", with_zipf(forty_ids(), 1.05)},
          16000,
          128,
          {Json::parse(kNarrow), adagrad(0.001, 1e-6)},
          std::nullopt,
          {.bytes_per_second = 125e6, .latency = std::chrono::milliseconds(10)}};
}

template <class Home>
Benchmark benchmark(const ServedTrainingCase& task, const std::string& variant) {
  const char* where = std::is_same_v<Home, Alone> ? ", in one process"
                      : task.local                ? ", through a shard, over a Unix socket"
                                                  : ", through a shard";
  return {.name = cat("pull-push/train/", task.name, variant),
          .help = cat(task.help, where),
          .unit = "examples",
          .make = [task](const BenchSettings& settings) {
            return std::make_unique<JobPasses<Home>>(settings, task);
          }};
}

}  // namespace

// Jobs that have a bar on processor time run in turns with the same job alone; those that pull ahead run in
// turns with the one that does not.
std::vector<Benchmark> served_training() {
  std::vector<Benchmark> out;
  for (const ServedTrainingCase& task : {logistic_case(), demo_case()}) {
    out.push_back(benchmark<Alone>(task, "/alone"));
    const std::string alone = out.back().name;
    ServedTrainingCase local = task;
    local.local = true;
    for (Benchmark served : {benchmark<Served>(task, ""), benchmark<Served>(local, "/local")}) {
      served.peers = {alone};
      served.paired = true;
      out.push_back(std::move(served));
    }
  }
  out.push_back(benchmark<Served>(deep_case(), ""));
  out.push_back(benchmark<Served>(far_case(), ""));
  const std::string far = out.back().name;
  for (int64_t batches : {2, 4, 8}) {
    ServedTrainingCase ahead = far_case();
    ahead.pull_ahead = batches;
    Benchmark served = benchmark<Served>(ahead, cat("/ahead-", batches));
    served.help += cat(", ", batches, " batches pulled ahead");
    served.peers = {far};
    served.paired = true;
    out.push_back(std::move(served));
  }
  return out;
}

}  // namespace ps
