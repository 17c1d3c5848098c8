// Jobs over data in memory: each run is one more pass, by the classes that ps-train is made of.
#include <algorithm>
#include <climits>
#include <cmath>

#include "base/memory.h"
#include "bench/train/cases.h"
#include "bench/train/plain_logistic.h"
#include "bench/train/suite.h"
#include "config/spec.h"
#include "feed/reader_source.h"
#include "job/job.h"
#include "store/local_store.h"
#include "train/trainer.h"

namespace ps {

namespace {

constexpr float kRate = 0.1f, kEpsilon = 1e-6f;

// A job, and the data on which it is trained.
struct TrainCase {
  const char *name, *help;
  SyntheticKind data;  // as records, which need no parsing
  uint64_t full_samples;
  int batch_size;
  const char* model;       // of the job file
  const char* optimizer;   // of the job file
  bool has_plain = false;  // PlainLogistic must lose as much
};

bool never() {
  return false;
}

Job job_of(const TrainCase& task) {
  Json document = {{"model", Json::parse(task.model)},
                   {"optimizer", Json::parse(task.optimizer)},
                   {"train", {{"gradient", "sum"}, {"log_period", 0}, {"save_dir", ""}}}};
  return Job::spec().parse(document, task.name);
}

}  // namespace

std::unique_ptr<BatchReader> reader_of(const SyntheticData& data, const MemoryFile& file, int batch_size,
                                       int threads) {
  DataOptions options = data.options;
  options.batch_size = batch_size;
  ReaderSettings settings;
  settings.threads = threads;
  settings.passes = INT_MAX;
  settings.stdin_descriptor = file.rewound();
  return std::make_unique<BatchReader>(options, std::vector<std::string>{"-"}, settings);
}

namespace {

// The average loss of the first pass of a plain loop.
double plain_loss(BatchReader& reader, int64_t dim) {
  PlainLogistic model(dim, kRate, kEpsilon);
  Batch batch;
  double loss = 0, examples = 0;
  reader.begin_pass(0);
  while (reader.next(batch)) {
    loss += model.step(batch);
    examples += static_cast<double>(batch.size());
  }
  return loss / examples;
}

class TrainPasses final : public Workload {
 public:
  TrainPasses(const BenchSettings& settings, const TrainCase& task)
      : job_(job_of(task)),
        data_(make_synthetic(task.data, settings.scale, task.full_samples)),
        file_(data_.bytes),
        reader_(reader_of(data_, file_, task.batch_size, settings.threads)),
        device_(settings.threads),
        network_(job_.model, reader_->schema(), job_.job.seed),
        store_(network_.parameters(), make_optimizer_plan(job_.optimizer, job_.train.gradient),
               available_memory_bytes(), device_),
        log_("ps-bench", LogLevel::kError),
        reporter_(log_, ProgressMode::kOff, ""),
        source_(network_, *reader_, {.threads = settings.threads}) {
    trainer_ = std::make_unique<Trainer>(network_, store_, device_, job_.train, group_, reporter_);
    if (task.has_plain) plain_loss_ = plain_loss(*reader_, data_.options.dim);
    untrained_cost_ = trainer_->test(-1, source_, never).cost;
  }

  void run() override {
    result_ = trainer_->train_pass(passes_, source_, never);
    if (passes_++ == 0) first_cost_ = result_.average_cost;
  }

  // Two programs that sum in other orders agree to far less than a half per cent.
  void check() override {
    expect_equal("examples trained on", static_cast<uint64_t>(result_.samples), data_.digest.examples);
    if (plain_loss_) expect_near("loss of the first pass", first_cost_, *plain_loss_, 0.005);
    double cost = trainer_->test(-1, source_, never).cost;
    if (cost < untrained_cost_) return;
    fail(Code::kInternal, "cost after training: ", cost, ", expected less than before: ", untrained_cost_);
  }

  Work work() const override { return data_.training(); }

  std::vector<Figure> figures() const override {
    return {{"first pass", first_cost_}, {"last pass", result_.average_cost}};
  }

 private:
  const Job job_;
  const SyntheticData data_;
  const MemoryFile file_;
  const std::unique_ptr<BatchReader> reader_;
  Device device_;
  Network<float> network_;
  LocalStore store_;
  Log log_;
  Reporter reporter_;
  LocalGroup group_;
  ReaderSource source_;
  std::unique_ptr<Trainer> trainer_;

  int passes_ = 0;
  PassResult result_;  // of the last pass
  double first_cost_ = 0, untrained_cost_ = 0;
  std::optional<double> plain_loss_;
};

class PlainPasses final : public Workload {
 public:
  PlainPasses(const BenchSettings& settings, const TrainCase& task)
      : data_(make_synthetic(task.data, settings.scale, task.full_samples)),
        model_(data_.options.dim, kRate, kEpsilon) {
    MemoryFile file(data_.bytes);
    std::unique_ptr<BatchReader> reader = reader_of(data_, file, task.batch_size, 1);
    reader->begin_pass(0);
    for (Batch batch; reader->next(batch); batch = {}) batches_.push_back(std::move(batch));
  }

  void run() override {
    loss_ = 0;
    for (const Batch& batch : batches_) loss_ += model_.step(batch);
    loss_ /= static_cast<double>(data_.digest.examples);
    if (passes_++ == 0) first_loss_ = loss_;
  }

  // Each pass tries to lower the loss; the first begins at log 2 an example.
  void check() override {
    bool fell =
        passes_ > 0 && std::isfinite(loss_) && loss_ <= first_loss_ && first_loss_ <= 2 * std::log(2.0);
    if (!fell) fail(Code::kInternal, "the loss went from ", first_loss_, " to ", loss_);
  }

  Work work() const override { return data_.training(); }

  std::vector<Figure> figures() const override { return {{"first pass", first_loss_}, {"last pass", loss_}}; }

 private:
  const SyntheticData data_;
  PlainLogistic model_;
  std::vector<Batch> batches_;
  int passes_ = 0;
  double loss_ = 0, first_loss_ = 0;
};

constexpr const char* kAdagrad = R"({"type": "adagrad", "learning_rate": 0.1, "epsilon": 1e-6})";

// Sums of 40 long vectors overshoot at the rate that suits single weights.
constexpr const char* kSlowAdagrad = R"({"type": "adagrad", "learning_rate": 0.01, "epsilon": 1e-6})";

constexpr const char* kLogistic = R"({
  "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true,
              "weight": {"init": {"type": "zero"}}}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

constexpr const char* kFactorisation = R"({
  "layers": [{"name": "linear", "type": "fc", "input": "features", "size": 1, "sparse_update": true,
              "weight": {"init": {"type": "zero"}}},
             {"name": "pairs", "type": "fm", "input": "features", "factors": 8, "sparse_update": true},
             {"name": "score", "type": "add", "input": ["linear", "pairs"]}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

constexpr const char* kEmbedding16 = R"({
  "layers": [{"name": "vectors", "type": "embedding", "input": "features", "size": 16, "sparse_update": true},
             {"name": "score", "type": "fc", "input": "vectors", "size": 1}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

constexpr const char* kEmbedding64 = R"({
  "layers": [{"name": "vectors", "type": "embedding", "input": "features", "size": 64, "sparse_update": true},
             {"name": "score", "type": "fc", "input": "vectors", "size": 1}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

constexpr const char* kEmbedding256 = R"({
  "layers": [{"name": "vectors", "type": "embedding", "input": "features", "size": 256, "sparse_update": true},
             {"name": "score", "type": "fc", "input": "vectors", "size": 1}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

// PaddlePaddle's sparse_binary demo.
constexpr const char* kDemo = R"({
  "layers": [{"name": "hidden1", "type": "fc", "input": "features", "size": 256, "activation": "tanh",
              "sparse_update": true},
             {"name": "hidden2", "type": "fc", "input": "hidden1", "size": 32, "activation": "tanh"},
             {"name": "output", "type": "fc", "input": "hidden2", "size": 2, "activation": "softmax"}],
  "cost": {"type": "cross_entropy", "input": "output"}})";

std::vector<TrainCase> cases() {
  return {
      {"logistic", "logistic regression, 40 ids an example", kFortyRecords, 1000000, kTrainBatchSize,
       kLogistic, kAdagrad, true},
      {"fm-8", "factorisation machine with vectors of 8", kFortyRecords, 500000, kTrainBatchSize,
       kFactorisation, kSlowAdagrad},
      {"embedding-16", "40 rows of 16 summed", kFortyRecords, kEmbeddingSamples, kTrainBatchSize,
       kEmbedding16, kSlowAdagrad},
      {"embedding-64", "40 rows of 64 summed", kFortyRecords, 100000, kTrainBatchSize, kEmbedding64,
       kSlowAdagrad},
      {"embedding-256", "40 rows of 256 summed", kFortyRecords, 50000, kTrainBatchSize, kEmbedding256,
       kSlowAdagrad},
      {"fc-demo",
       "PaddlePaddle's sparse_binary demo: 18,182,296 x 256 x 32 x 2",
       {"sparse-binary", "records"},
       10000,
       200,
       kDemo,
       R"({"type": "sparse_momentum", "momentum": 0.9, "learning_rate": 0.001})"},
  };
}

Benchmark benchmark(const std::string& name, const std::string& help, MakeWorkload make) {
  return {.name = name, .help = help, .unit = "examples", .make = std::move(make), .limit = "limits/lines"};
}

}  // namespace

std::vector<Benchmark> train_benchmarks() {
  std::vector<Benchmark> out;
  for (const TrainCase& task : cases()) {
    std::string name = cat("train/", task.name);
    Benchmark own = benchmark(name, task.help, [task](const BenchSettings& settings) {
      return std::make_unique<TrainPasses>(settings, task);
    });
    own.threaded = true;
    if (task.has_plain) {
      own.peers = {cat(name, "/plain")};
      out.push_back(benchmark(
          own.peers[0], "the same by a plain loop over arrays",
          [task](const BenchSettings& settings) { return std::make_unique<PlainPasses>(settings, task); }));
    }
    if (name == "train/embedding-16") {
      own.peers = {cat(name, "/torch")};
      out.push_back(torch_benchmark(own.peers[0]));
    }
    out.push_back(std::move(own));
  }
  return out;
}

}  // namespace ps
