#include "bench/gpu/suite.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "bench/gpu/open.h"
#include "device/device_type.h"

namespace ps {

namespace {

constexpr std::string_view kEmulated = "emulated";

OpenedGpu open_gpu(const std::string& device) {
  check_bench_device(device);
  const std::optional<int> number = cuda_number(device);
  return number ? open_cuda_gpu(*number) : open_emulated_gpu();
}

// Makes the benchmark of this name on the device of the settings.  The list of names comes from the emulator,
// which has the same benchmarks.
std::unique_ptr<Workload> make_on_device(const std::string& name, const BenchSettings& settings) {
  const OpenedGpu opened = open_gpu(settings.device);
  const auto found = std::find_if(opened.benchmarks.begin(), opened.benchmarks.end(),
                                  [&](const Benchmark& benchmark) { return benchmark.name == name; });
  PS_CHECK(found != opened.benchmarks.end());
  return found->make(settings);
}

// Makes these benchmarks of the processor throw kUnavailable where there is no device to compare them with;
// they are then skipped.
std::vector<Benchmark> beside_device(std::vector<Benchmark> benchmarks) {
  for (Benchmark& benchmark : benchmarks) {
    benchmark.make = [make = std::move(benchmark.make)](const BenchSettings& settings) {
      open_gpu(settings.device);
      return make(settings);
    };
  }
  return benchmarks;
}

}  // namespace

void check_bench_device(std::string_view device) {
  if (device == kEmulated || cuda_number(device)) return;
  fail(Code::kUsage, "found ", quote(device), ", expected 'emulated', or a GPU, as 'cuda:0'");
}

std::string describe_bench_device(const std::string& device) {
  try {
    return open_gpu(device).description;
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable) throw;
    return error.message();
  }
}

// The list must be there on machines without a GPU too.  So the emulator gives the names, helps and peers,
// and the device of the settings is opened only when a benchmark is made.
std::vector<Benchmark> gpu_benchmarks() {
  std::vector<Benchmark> out = beside_device(gpu_peer_tables());
  for (Benchmark& benchmark : open_emulated_gpu().benchmarks) {
    benchmark.make = [name = benchmark.name](const BenchSettings& settings) {
      return make_on_device(name, settings);
    };
    out.push_back(std::move(benchmark));
  }
  std::ranges::move(beside_device(gpu_training()), std::back_inserter(out));
  return out;
}

}  // namespace ps
