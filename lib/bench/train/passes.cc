// Times passes of jobs over data in memory, by the classes that ps-train is made of: each run is one more
// pass.
#include <cmath>

#include "bench/jobs.h"
#include "bench/train/cases.h"
#include "bench/train/memory_passes.h"
#include "bench/train/plain_logistic.h"
#include "bench/train/suite.h"

namespace ps {

namespace {

constexpr float kPassRate = 0.1f, kPassEpsilon = 1e-6f;

// A job, and the data that it is trained on.
struct TrainCase {
  const char *name, *help;
  SyntheticKind data;  // records, which need no parsing
  uint64_t full_samples;
  int batch_size;
  ModelAndOptimizer job;
  bool has_plain = false;  // the loss must be that of PlainLogistic
};

// Returns the average loss of the first pass of PlainLogistic.
double plain_loss(BatchReader& reader, int64_t dim) {
  PlainLogistic model(dim, kPassRate, kPassEpsilon);
  Batch batch;
  double loss = 0, examples = 0;
  reader.begin_pass(0);
  while (reader.next(batch)) {
    loss += model.step(batch);
    examples += static_cast<double>(batch.size());
  }
  return loss / examples;
}

// Passes of a job.  One owner thread.
//
// PlainLogistic reads the same reader before the first pass, and the cost of the untrained model is taken;
// both come before any run, and neither is timed.  Later runs find the examples in memory and the rows in
// the table.
class TrainPasses final : public Workload {
 public:
  TrainPasses(const BenchSettings& settings, const TrainCase& task)
      : job_(memory_job(task.name, task.job)),
        data_(make_synthetic(task.data, settings.scale, task.full_samples)),
        local_(job_, data_, task.batch_size, settings.threads, settings.cpu) {
    if (task.has_plain) plain_loss_ = plain_loss(passes().reader(), data_.options.dim);
    untrained_cost_ = passes().test();
  }

  void run() override {
    const bool first = passes().passes() == 0;
    const double cost = passes().train().average_cost;
    if (first) first_cost_ = cost;
  }

  // Losses whose sums run in another order agree to far less than a half per cent.
  void check() override {
    expect_equal("examples trained on", static_cast<uint64_t>(passes().result().samples),
                 data_.digest.examples);
    if (plain_loss_) expect_near("loss of the first pass", first_cost_, *plain_loss_, 0.005);
    double cost = passes().test();
    if (cost < untrained_cost_) return;
    fail(Code::kInternal, "cost after training: ", cost, ", expected less than before: ", untrained_cost_);
  }

  Work work() const override { return data_.training(); }

  std::vector<Figure> figures() const override {
    return {{"first pass", first_cost_}, {"last pass", local_.passes().result().average_cost}};
  }

 private:
  MemoryPasses& passes() { return local_.passes(); }

  const Job job_;
  const SyntheticData data_;
  LocalPasses local_;
  double first_cost_ = 0, untrained_cost_ = 0;
  std::optional<double> plain_loss_;
};

// Passes of PlainLogistic.  The batches are parsed and kept beforehand, so that a run is the loop alone:
// reading, finding rows and threads cost nothing here, which makes it a hard peer for one thread.  One
// owner thread.
class PlainPasses final : public Workload {
 public:
  PlainPasses(const BenchSettings& settings, const TrainCase& task)
      : data_(make_synthetic(task.data, settings.scale, task.full_samples)),
        model_(data_.options.dim, kPassRate, kPassEpsilon) {
    MemoryFile file(data_.bytes);
    std::unique_ptr<BatchReader> reader = memory_reader(data_, file, task.batch_size, 1);
    reader->begin_pass(0);
    for (Batch batch; reader->next(batch); batch = {}) batches_.push_back(std::move(batch));
  }

  void run() override {
    loss_ = 0;
    for (const Batch& batch : batches_) loss_ += model_.step(batch);
    loss_ /= static_cast<double>(data_.digest.examples);
    if (passes_++ == 0) first_loss_ = loss_;
  }

  // Each pass should lower the loss; the first begins at log 2 an example.
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

// Each case trains one model; its name follows "train/" in the catalogue.  The widths go from 1 to 256: the
// time of narrow rows is that of finding them, and that of wide ones is arithmetic and bytes.  Wider rows
// have fewer examples, so that their passes stay short.
std::vector<TrainCase> cases() {
  // Sums of 40 long vectors overshoot at the rate that suits single weights.
  const Json slow = adagrad(0.01, 1e-6);
  return {
      {"logistic",
       "logistic regression, 40 ids an example",
       kFortyRecords,
       1000000,
       kTrainBatchSize,
       {logistic_model(), adagrad(0.1, 1e-6)},
       true},
      {"fm-8",
       "factorisation machine with vectors of 8",
       kFortyRecords,
       500000,
       kTrainBatchSize,
       {factorization_model(), slow}},
      {"embedding-16",
       "40 rows of 16 summed",
       kFortyRecords,
       kEmbeddingSamples,
       kTrainBatchSize,
       {embedding_model(16), slow}},
      {"embedding-64",
       "40 rows of 64 summed",
       kFortyRecords,
       100000,
       kTrainBatchSize,
       {embedding_model(64), slow}},
      {"embedding-256",
       "40 rows of 256 summed",
       kFortyRecords,
       50000,
       kTrainBatchSize,
       {embedding_model(256), slow}},
      {"fc-demo",
       "PaddlePaddle's sparse_binary demo: 18,182,296 x 256 x 32 x 2",
       {"sparse-binary", "records", demo_ids()},
       10000,
       kDemoBatch,
       {demo_model(), demo_optimizer()}},
  };
}

Benchmark benchmark(const std::string& name, const std::string& help, MakeWorkload make) {
  return {.name = name, .help = help, .unit = "examples", .make = std::move(make), .limit = "limits/lines"};
}

}  // namespace

// The limit is that of random cache lines: a pass must read at least one for each id.
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
