#include "bench/cuda/device_benchmarks.h"

#include <iterator>
#include <utility>

namespace ps {

inline namespace PS_GPU_NAMESPACE {

std::vector<Benchmark> device_benchmarks(const SharedGpu& device) {
  std::vector<Benchmark> out;
  for (auto list :
       {device_limits, device_look_ups, device_pushes, device_groups, device_products, device_selections}) {
    std::vector<Benchmark> part = list(device);
    std::move(part.begin(), part.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
