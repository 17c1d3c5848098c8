// DeviceWorkload: a Workload whose seconds are the time between two events of a stream.  Used by
// bench/cuda/*.cu.
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

// Returns scale * full, but at least `least`.
inline int64_t scaled_count(double scale, double full, int64_t least) {
  return std::max(least, static_cast<int64_t>(scale * full));
}

// A workload with a stream of its own on a shared device.  One owner thread.
class DeviceWorkload : public Workload {
 public:
  explicit DeviceWorkload(SharedGpu device)
      : device_(std::move(device)), stream_(*device_), timer_(*device_), kinds_(*device_, 1) {}

  std::optional<double> seconds() const override { return timer_.seconds(); }

 protected:
  // Times the operations that `work` queues on the stream, and waits for them.
  template <class Queue>
  void time(Queue queue) {
    timer_.start(stream_);
    queue();
    timer_.stop(stream_);
    stream_.synchronize();
  }

  // Returns counts of the kinds of rows.  `queue` gets the counts on the device, and queues a kernel that
  // adds to them.
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

// Returns a function that makes a workload of this kind, for a line in a list of benchmarks: its constructor
// takes the device and the settings, then `arguments`.
template <class Kind, class... Arguments>
MakeWorkload make_on(const SharedGpu& device, const Arguments&... arguments) {
  return
      [=](const BenchSettings& settings) { return std::make_unique<Kind>(device, settings, arguments...); };
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_BENCH_CUDA_DEVICE_WORKLOAD_H_
