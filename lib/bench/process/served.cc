// Compares ps-train through ps-serve on the same machine with ps-train alone, to measure the cost of a
// server.  All programs run on one core: two programs that share the units of a core, as two processors of a
// virtual machine may, would each count time that the other took from it.
#include <memory>

#include "base/error.h"
#include "bench/jobs.h"
#include "bench/process/suite.h"
#include "bench/process/train_process.h"
#include "bench/resident.h"
#include "config/json.h"

namespace ps {

namespace {

// A job that is trained with a server and without.
struct ServedCase {
  const char *name, *help;
  SyntheticKind data;
  uint64_t full_samples;
  int batch_size;
  ModelAndOptimizer job;
  int passes;
};

Json job_of(const ServedCase& task, int64_t dim) {
  Json job = process_job(task.job, task.data.format, task.batch_size);
  job["data"]["dim"] = dim;
  job["train"]["passes"] = job["train"]["saving_period"] = task.passes;
  return job;
}

// Runs of ps-train, with a server or without.  The figure that counts is the processor time of both
// programs together.  Memory is warmed and quiet before each run, since a host that takes memory back stops
// all processors.  One owner thread.
class ServedProcess final : public Workload {
 public:
  ServedProcess(const BenchSettings& settings, const ServedCase& task, bool served)
      : task_(task),
        served_(served),
        files_(cached_data(settings, task.data, task.full_samples)),
        warm_bytes_(served_bytes(settings.scale)),
        process_(settings, job_of(task, files_.dim), /*one_core=*/true) {}

  void prepare() override {
    warm_quiet_memory(warm_bytes_);
    begin_peak();
  }

  void run() override {
    served_ ? process_.train_served(files_.train) : process_.train(files_.train);
    result_ = process_.result();
  }

  // Checks that the model is that of a process alone, bit for bit.
  void check() override {
    expect_equal("passes", result_.passes.size(), static_cast<uint64_t>(task_.passes));
    expect_equal("examples trained on", result_.passes.back().samples, files_.samples);
    if (result_.rows == 0) fail(Code::kInternal, "the model has no rows");
    if (!served_) return;
    const std::string model = process_.model_bytes();
    process_.train(files_.train);
    if (model == process_.model_bytes()) return;
    fail(Code::kInternal, "the model made through a server is not that of a process alone");
  }

  Work work() const override {
    return {.bytes = static_cast<double>(files_.bytes),
            .items = static_cast<double>(files_.samples) * task_.passes};
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> figures = {
        {kCpuSeconds, result_.usage.cpu_seconds},
        {kMegabytes, static_cast<double>(result_.usage.peak_bytes) / kBytesOfMegabyte},
        {"loss", result_.passes.back().cost}};
    if (served_) figures.push_back({"server CPU s", result_.server_cpu_seconds});
    return figures;
  }

 private:
  const ServedCase task_;
  const bool served_;
  const DataFiles files_;
  const uint64_t warm_bytes_;
  TrainProcess process_;
  TrainRun result_;  // result of the last run
};

const std::vector<ServedCase>& served_cases() {
  static const std::vector<ServedCase> kCases = {
      {.name = "logistic",
       .help = "logistic regression, batches of 4096, from libsvm to a saved model",
       .data = kFortyLibsvm,
       .full_samples = kFortySamples,
       .batch_size = 4096,
       .job = {logistic_model(), adagrad(0.1, 1)},
       .passes = 1},
      {.name = "fc-demo",
       .help = "PaddlePaddle's sparse_binary demo, 18,182,296 x 256, four passes to a saved model",
       .data = {"sparse-binary", "paddle_sparse_binary", demo_ids()},
       .full_samples = kDemoSamples,
       .batch_size = kDemoBatch,
       .job = demo_job(),
       .passes = 4},
  };
  return kCases;
}

Benchmark benchmark(const ServedCase& task, bool served) {
  return {.name = cat("process/served/", task.name, served ? "" : "/alone"),
          .help = cat(task.help, served ? ", ps-train through ps-serve" : ", ps-train alone"),
          .unit = "examples",
          .make = [task, served](const BenchSettings& settings) {
            return std::make_unique<ServedProcess>(settings, task, served);
          }};
}

}  // namespace

std::vector<Benchmark> served_process_benchmarks() {
  std::vector<Benchmark> out;
  for (const ServedCase& task : served_cases()) {
    out.push_back(benchmark(task, /*served=*/false));
    Benchmark served = benchmark(task, /*served=*/true);
    served.peers = {out.back().name};
    served.paired = true;
    out.push_back(std::move(served));
  }
  return out;
}

}  // namespace ps
