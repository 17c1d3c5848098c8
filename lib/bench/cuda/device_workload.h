// DeviceWorkload: a Workload whose time is that between two events of a stream.  Used by bench/cuda/*.cu.
#ifndef PS_BENCH_CUDA_DEVICE_WORKLOAD_H_
#define PS_BENCH_CUDA_DEVICE_WORKLOAD_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "bench/benchmark.h"
#include "bench/cuda/device_benchmarks.h"
#include "bench/cuda/known_rows.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// The number of things at a size of `scale`, of which there are `full` at 1.
inline int64_t scaled_count(double scale, double full, int64_t least) {
  return std::max(least, static_cast<int64_t>(scale * full));
}

class DeviceWorkload : public Workload {
 public:
  explicit DeviceWorkload(SharedGpu device)
      : device_(std::move(device)), stream_(*device_), timer_(*device_), kinds_(*device_, 1) {}

  std::optional<double> seconds() const override { return timer_.seconds(); }

 protected:
  // Times what `work` queues on the stream, and waits for it.
  template <class Queue>
  void time(Queue queue) {
    timer_.start(stream_);
    queue();
    timer_.stop(stream_);
    stream_.synchronize();
  }

  // Counts kinds of rows by what `queue`, given the counts on the device, has a kernel count.
  template <class Queue>
  RowKinds count(Queue queue) {
    RowKinds kinds;
    stream_.fill(kinds_.data(), 0, kinds_.bytes());
    queue(kinds_.data());
    stream_.copy_to_host(&kinds, kinds_.data(), sizeof kinds);
    stream_.synchronize();
    return kinds;
  }

  gpu::Device& device() const { return *device_; }
  gpu::Stream& stream() { return stream_; }

 private:
  const SharedGpu device_;
  gpu::Stream stream_;
  gpu::Timer timer_;
  gpu::DeviceArray<RowKinds> kinds_;
};

// A list's line: the workload takes the device and the settings, then `arguments`.
template <class Kind, class... Arguments>
MakeWorkload make_on(const SharedGpu& device, const Arguments&... arguments) {
  return
      [=](const BenchSettings& settings) { return std::make_unique<Kind>(device, settings, arguments...); };
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_BENCH_CUDA_DEVICE_WORKLOAD_H_
