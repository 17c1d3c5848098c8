// Times ps-train as a process of its own, from a file to a saved model.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/statistics.h"
#include "bench/jobs.h"
#include "bench/process/suite.h"
#include "bench/process/train_process.h"
#include "bench/resident.h"
#include "bench/train/plain_logistic.h"
#include "config/json.h"
#include "data/reader.h"

namespace ps {

namespace {

// AdaGrad's sum of squares begins at 1.  With that and this rate the loss is about that of Vowpal Wabbit's
// defaults: 0.3159 in the first pass against 0.3152, and 0.3008 against 0.3023 on held-out data.
constexpr float kRate = 0.1f, kEpsilon = 1;

// A job, the data that it is trained on, and the checks of its result.
struct TrainingCase {
  const char *name, *help;
  SyntheticKind data;
  uint64_t full_samples;
  double ids;  // number of ids of an example, on average
  int batch_size;
  ModelAndOptimizer job;
  int passes = 1;             // with more than one pass, the time is that of the median pass after the first
  bool known_dim = true;      // the job file gives the number of ids
  bool has_plain = false;     // the loss of the first pass must be that of PlainLogistic
  bool has_held_out = false;  // the model is tested on held-out data
  int saving_period = 1;
};

Json job_of(const TrainingCase& task, int64_t dim) {
  Json job = process_job(task.job, task.data.format, task.batch_size);
  if (task.known_dim) job["data"]["dim"] = dim;
  job["train"]["passes"] = task.passes;
  job["train"]["saving_period"] = task.saving_period;
  return job;
}

// Returns the average loss of a pass of PlainLogistic over a file.  The file is read in the same batches,
// in order, as ps-train reads it.
double plain_loss(const TrainingCase& task, const DataFiles& files) {
  DataOptions options;
  options.format = task.data.format;
  options.dim = files.dim;
  options.batch_size = task.batch_size;
  BatchReader reader(options, {files.train}, {});
  PlainLogistic model(files.dim, kRate, kEpsilon);
  double loss = 0;
  reader.begin_pass(0);
  for (Batch batch; reader.next(batch);) loss += model.step(batch);
  return loss / static_cast<double>(files.samples);
}

// Runs of ps-train.  One owner thread.
//
// The time is that of the process, from its start to the saved model; for a job of several passes it is the
// median of the later ones, from ps-train's own report.  The first pass must have the loss of PlainLogistic
// where the job is the same, and the loss on held-out data stands beside that of the peers, since speed
// could be bought with it.
class Training final : public Workload {
 public:
  Training(const BenchSettings& settings, const TrainingCase& task)
      : task_(task),
        cores_(on_one_core(settings.threads) ? 1 : settings.threads),
        files_(cached_data(settings, task.data, task.full_samples)),
        process_(settings, job_of(task, files_.dim), on_one_core(settings.threads)) {
    if (task.has_plain) plain_loss_ = plain_loss(task, files_);
  }

  void prepare() override { begin_peak(); }

  void run() override {
    process_.train(files_.train);
    result_ = process_.result();
  }

  // Losses whose sums run in another order agree to far less than a half per cent.
  void check() override {
    expect_equal("passes", result_.passes.size(), static_cast<uint64_t>(task_.passes));
    for (const TrainRun::Pass& pass : result_.passes) {
      expect_equal("examples trained on", pass.samples, files_.samples);
    }
    double first = result_.passes.front().cost, last = result_.passes.back().cost;
    bool fell = std::isfinite(last) && (task_.passes == 1 || last < first);
    if (!fell) fail(Code::kInternal, "the loss went from ", first, " to ", last);
    if (result_.rows == 0) fail(Code::kInternal, "the model has no rows");
    if (plain_loss_) expect_near("loss of the first pass", first, *plain_loss_, 0.005);
    if (task_.has_held_out) test();
  }

  Work work() const override {
    double samples = static_cast<double>(files_.samples);
    return {.bytes = static_cast<double>(files_.bytes), .items = samples, .of_limit = samples * task_.ids};
  }

  std::optional<double> seconds() const override {
    if (task_.passes == 1) return std::nullopt;
    std::vector<double> later;
    for (size_t pass = 1; pass < result_.passes.size(); ++pass) later.push_back(result_.passes[pass].seconds);
    return median(std::move(later));
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> out = {
        {"cores", static_cast<double>(cores_)},
        {kCpuSeconds, result_.usage.cpu_seconds},
        {kMegabytes, static_cast<double>(result_.usage.peak_bytes) / kBytesOfMegabyte},
        {"rows", static_cast<double>(result_.rows)},
        {"loss", result_.passes.back().cost},
    };
    if (held_out_loss_) out.push_back({kHeldOutLoss, *held_out_loss_});
    out.push_back({"save s", result_.passes.back().save_seconds});
    return out;
  }

 private:
  void test() {
    held_out_loss_ = process_.test(files_.held_out);
    expect_learned(*held_out_loss_, files_.samples);
  }

  const TrainingCase task_;
  const int cores_;
  const DataFiles files_;
  TrainProcess process_;
  TrainRun result_;  // result of the last run
  std::optional<double> plain_loss_, held_out_loss_;
};

// The order matters: training_benchmarks() finds the peers of the first cases by their position.
const std::vector<TrainingCase>& training_cases() {
  static const std::vector<TrainingCase> kCases = {
      {.name = "logistic",
       .help = "logistic regression, from libsvm to a saved model; 1 thread is on one core",
       .data = kFortyLibsvm,
       .full_samples = kFortySamples,
       .ids = 40,
       .batch_size = 1024,
       .job = {logistic_model(), adagrad(0.1, 1)},
       .has_plain = true,
       .has_held_out = true},
      {.name = "logistic-hashed",
       .help = "the same, with ids that may be any of 64 bits",
       .data = kFortyLibsvm,
       .full_samples = kFortySamples,
       .ids = 40,
       .batch_size = 1024,
       .job = {logistic_model(), adagrad(0.1, 1)},
       .known_dim = false,
       .has_plain = true},
      {.name = "logistic-passes",
       .help = "the same job, a pass after the first, over data in memory",
       .data = kFortyLibsvm,
       .full_samples = kFortySamples,
       .ids = 40,
       .batch_size = 1024,
       .job = {logistic_model(), adagrad(0.1, 1)},
       .passes = 4,
       .has_plain = true,
       .saving_period = 4},
      {.name = "fm-8-passes",
       .help = "factorisation machine with vectors of 8, a pass after the first",
       .data = kFortyLibsvm,
       .full_samples = kFortySamples / 2,
       .ids = 40,
       .batch_size = 1024,
       .job = {factorization_model(), adagrad(0.01, 1e-6)},
       .passes = 4,
       .saving_period = 4},
      {.name = "fc-demo",
       .help = "PaddlePaddle's sparse_binary demo, 18,182,296 x 256, a pass after the first",
       .data = {"sparse-binary", "paddle_sparse_binary", demo_ids()},
       .full_samples = kDemoSamples,
       .ids = 100.5,
       .batch_size = kDemoBatch,
       .job = demo_job(),
       .passes = 4},
  };
  return kCases;
}

Benchmark benchmark(const TrainingCase& task) {
  return {
      .name = cat("process/", task.name),
      .help = task.help,
      .unit = "examples",
      .make = [task](const BenchSettings& settings) { return std::make_unique<Training>(settings, task); },
      .threaded = true,
      .limit = "limits/lines"};
}

}  // namespace

// A model that always predicts 1/2 has the loss log 2.  From few examples no model learns enough to predict
// others.
void expect_learned(double held_out_loss, uint64_t samples) {
  constexpr uint64_t kEnough = 5000;
  if (std::isfinite(held_out_loss) && (samples < kEnough || held_out_loss < std::log(2.0))) return;
  fail(Code::kInternal, "loss on held-out data: ", held_out_loss, ", expected less than log 2");
}

// out[2] is process/logistic, beside both peers, and out[3] process/logistic-hashed, beside
// process/logistic.
std::vector<Benchmark> training_benchmarks() {
  std::vector<Benchmark> out = {liblinear_benchmark("process/logistic/liblinear"),
                                vowpal_wabbit_benchmark("process/logistic/vw")};
  for (const TrainingCase& task : training_cases()) out.push_back(benchmark(task));
  out[2].peers = {out[0].name, out[1].name};
  out[3].peers = {out[2].name};
  return out;
}

}  // namespace ps
