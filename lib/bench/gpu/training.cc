// Times whole steps of models on a device, and on the processor of the same machine: passes over data in
// memory, by the classes that ps-train is made of.
#include <algorithm>

#include "base/error.h"
#include "bench/gpu/suite.h"
#include "bench/jobs.h"
#include "bench/machine.h"
#include "bench/train/memory_passes.h"
#include "device/device_type.h"
#include "job/model_placement.h"
#include "job/start_strategy.h"

namespace ps {

namespace {

// A job that is trained on a device and on the processor, and its data.
struct ModelCase {
  const char *name, *help;
  SyntheticKind data;  // records, which need no parsing
  uint64_t full_samples;
  int batch_size;
  ModelAndOptimizer job;
};

constexpr const char* kCpu = "cpu";

// Returns the device memory for sparse rows; the rows of the demo take a gigabyte.  It is at most a quarter
// of the free memory, since the model, its batches and its workspaces need the rest.
std::string cache_bytes(const std::string& device, double scale) {
  constexpr double kFull = double(int64_t{8} << 30), kLeast = 64 << 20;
  const double free_bytes = static_cast<double>(open_row_device(device)->free_bytes());
  return cat(static_cast<int64_t>(std::max(kLeast, std::min(kFull * scale, free_bytes / 4))) >> 20, "M");
}

// Makes the job of a model on a device.  `trains` is its device.trains; `device` may be the processor.
Job job_on(const ModelCase& model, const std::string& device, const std::string& trains, double scale) {
  Job job = memory_job(model.name, model.job);
  if (device == kCpu) return job;
  job.device.type = device;
  job.device.trains = trains;
  if (job.device.caches_rows()) job.device.bytes = cache_bytes(device, scale);
  return job;
}

// Trains passes of a job, by the strategy and on the device that the job names.  One owner thread.
class JobPasses {
 public:
  // `job` must outlive this.
  JobPasses(const Job& job, const SyntheticData& data, int batch_size, CpuLevel cpu)
      : passes_(job, data, batch_size, this_machine().cores, cpu),
        model_device_(place_model(job, passes_.network(), passes_.device(), placement_, log_)),
        running_(start_strategy(job, run_options(cpu), passes_.schema(), passes_.network().parameters(),
                                servers_, passes_.device(), placement_, log_)) {
    passes_.begin((*running_)->store(), (*running_)->group(), model_device_.get());
  }

  MemoryPasses& operator*() { return passes_; }
  MemoryPasses* operator->() { return &passes_; }

 private:
  static RunOptions run_options(CpuLevel cpu) {
    RunOptions options;
    options.threads = this_machine().cores;
    options.cpu = cpu;
    return options;
  }

  Log log_{"ps-bench", LogLevel::kError};
  ServerFinder servers_{{}, log_};
  ModelPlacement placement_;
  MemoryPasses passes_;
  const std::unique_ptr<Device> model_device_;  // null: the processor
  const std::unique_ptr<RunningStrategy> running_;
};

// Passes of a model.  One owner thread.
//
// A run is one more pass, and its seconds are those of training alone.  For a device, the constructor first
// trains one pass of the same job on the processor, whose cost the device's first pass must have: devices
// sum in another order, so costs agree only nearly.  Each pass must leave the model better than it was at
// the beginning.
class ModelTraining final : public Workload {
 public:
  ModelTraining(const BenchSettings& settings, const ModelCase& model, const std::string& device,
                const std::string& trains)
      : job_(job_on(model, device, trains, settings.scale)),
        data_(make_synthetic(model.data, settings.scale, model.full_samples)),
        clock_(settings.clock) {
    if (device != kCpu) {
      const Job plain = job_on(model, kCpu, "", settings.scale);
      expected_cost_ = JobPasses(plain, data_, model.batch_size, settings.cpu)->train().average_cost;
    }
    passes_ = std::make_unique<JobPasses>(job_, data_, model.batch_size, settings.cpu);
    untrained_cost_ = passes().test();
  }

  void run() override {
    const bool first = passes().passes() == 0;
    const double start = clock_();
    const double cost = passes().train().average_cost;
    seconds_ = clock_() - start;
    if (first) first_cost_ = cost;
  }

  // Losses whose sums run in another order agree to far less than a half per cent.
  void check() override {
    expect_equal("examples trained on", static_cast<uint64_t>(passes().result().samples),
                 data_.digest.examples);
    if (expected_cost_) expect_near("loss of the first pass", first_cost_, *expected_cost_, 0.005);
    const double cost = passes().test();
    if (cost < untrained_cost_) return;
    fail(Code::kInternal, "cost after training: ", cost, ", expected less than before: ", untrained_cost_);
  }

  Work work() const override { return data_.training(); }

  std::vector<Figure> figures() const override {
    const MemoryPasses& passes = **passes_;
    return {{kMillisecondsOfStep, seconds_ / static_cast<double>(passes.result().batches) * 1e3},
            {"first pass", first_cost_},
            {"last pass", passes.result().average_cost}};
  }

 private:
  MemoryPasses& passes() { return **passes_; }

  const Job job_;
  const SyntheticData data_;
  const Clock clock_;
  std::optional<double> expected_cost_;
  std::unique_ptr<JobPasses> passes_;
  double untrained_cost_ = 0, first_cost_ = 0, seconds_ = 0;
};

SynthOptions criteo_ids() {
  SynthOptions options;
  options.dim = 1000000;
  return options;
}

// Wide & deep has much to compute for its rows; the demo has wide rows and little to compute.
std::vector<ModelCase> model_cases() {
  return {{"wide-deep",
           "wide & deep, 26 rows of 10, three layers of 400, batches of 4096: examples, ",
           {"criteo", "records", criteo_ids()},
           102400,
           4096,
           {wide_deep_model(), {{"type", "adam"}, {"learning_rate", 0.001}}}},
          {"fc-demo",
           "PaddlePaddle's sparse_binary demo: 18,182,296 x 256 x 32 x 2, batches of 200: examples, ",
           {"sparse-binary", "records", demo_ids()},
           10000,
           kDemoBatch,
           {demo_model(), demo_optimizer()}}};
}

Benchmark benchmark(const std::string& name, const std::string& help, MakeWorkload make) {
  return {.name = name, .help = help, .unit = "examples", .make = std::move(make)};
}

}  // namespace

// Each model is trained in three ways: on the processor, which is the peer of the others; with the model on
// the device and rows on the processor; and with both on the device.
std::vector<Benchmark> gpu_training() {
  std::vector<Benchmark> out;
  for (const ModelCase& model : model_cases()) {
    const std::string name = cat("gpu/train/", model.name), cpu = cat(name, "/cpu");
    const auto add = [&](const std::string& its_name, const char* where, const std::string& trains) {
      out.push_back(
          benchmark(its_name, cat(model.help, where), [model, trains](const BenchSettings& settings) {
            return std::make_unique<ModelTraining>(settings, model, trains.empty() ? kCpu : settings.device,
                                                   trains);
          }));
      if (!trains.empty()) out.back().peers = {cpu};
    };
    add(cpu, "on all cores", "");
    add(cat(name, "/model"), "the model on the device, its sparse rows on the processor", "model");
    add(name, "model and rows on the device", "all");
  }
  return out;
}

}  // namespace ps
