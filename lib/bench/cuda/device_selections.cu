// Times the selection of the largest values on a device.
#include <cmath>
#include <vector>

#include "base/error.h"
#include "bench/cuda/device_workload.h"
#include "codec/cuda/device_selection.h"
#include "codec/selection.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// Writes products of three values that are spread evenly: most are small and few are large, as in gradients.
__global__ void write_gradient(float* values, uint64_t size) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size) values[i] = bench_value(i, 0) * bench_value(i, 1) * bench_value(i, 2);
}

// Selections from one array.  The processor's Selector makes the expected result once, with the same draw
// of the sample: both sides must choose the same threshold, and so the same values in the same order.
// Outputs are filled with bits of ones before each run, so that an output which is not written is noticed.
// One owner thread.
class SelectLargest final : public DeviceWorkload {
 public:
  SelectLargest(const SharedGpu& device, const BenchSettings& settings)
      : DeviceWorkload(device),
        size_(scaled_count(settings.scale, int64_t{64} << 20, 20'000)),
        count_(size_ / 1000),
        values_(*device, size_),
        value_(*device, count_),
        index_(*device, count_),
        num_selected_(*device, 1),
        selector_(*device, Selection::kSampled) {
    run_items(write_gradient, static_cast<uint64_t>(size_), stream(), values_.data(),
              static_cast<uint64_t>(size_));
    std::vector<float> values(static_cast<size_t>(size_));
    stream().copy_to_host(values.data(), values_.data(), values_.bytes());
    stream().synchronize();
    Selector(Selection::kSampled, settings.cpu)
        .select(values, static_cast<uint64_t>(count_), kDraw, expected_);
  }

  void prepare() override {
    stream().fill(index_.data(), 0xff, index_.bytes());
    stream().fill(num_selected_.data(), 0xff, num_selected_.bytes());
  }

  void run() override {
    time([&] {
      selector_.select(stream(), values_.data(), static_cast<uint64_t>(size_), static_cast<uint64_t>(count_),
                       kDraw, {index_.data(), value_.data(), num_selected_.data()});
    });
  }

  // Checks that the processor selects the same values.
  void check() override {
    uint32_t size = 0;
    stream().copy_to_host(&size, num_selected_.data(), sizeof size);
    stream().synchronize();
    if (size > count_) fail(Code::kInternal, "selected ", size, " values, expected at most ", count_);
    std::vector<uint32_t> index(size);
    std::vector<float> value(size);
    stream().copy_to_host(index.data(), index_.data(), size * sizeof(uint32_t));
    stream().copy_to_host(value.data(), value_.data(), size * sizeof(float));
    stream().synchronize();
    if (index == expected_.index && value == expected_.value) return;
    fail(Code::kInternal, "selected ", size, " values, expected ", expected_.index.size(),
         ", or others than these");
  }

  // Each value is read once.
  Work work() const override {
    return {.bytes = static_cast<double>(values_.bytes()), .of_limit = static_cast<double>(values_.bytes())};
  }

 private:
  static constexpr uint64_t kDraw = 7;

  const int64_t size_, count_;
  gpu::DeviceArray<float> values_, value_;
  gpu::DeviceArray<uint32_t> index_, num_selected_;
  DeviceSelector selector_;
  SparseVector expected_;
};

}  // namespace

std::vector<Benchmark> device_selections(const SharedGpu& device) {
  return {{.name = "gpu/select",
           .help = "the largest 0.1 % of 64 M values: bytes of values read",
           .unit = "B",
           .make = make_on<SelectLargest>(device),
           .limit = "gpu/copy"}};
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
