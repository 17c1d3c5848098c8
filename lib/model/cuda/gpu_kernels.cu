#include "model/cuda/gpu_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <variant>

#include "gpu/algorithms.h"
#include "model/cuda/batch_transfers.h"
#include "optim/kernels/arithmetic.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

constexpr unsigned kThreads = 128;  // threads of a block

// A thread computes every n-th item, n being the number of threads: consecutive threads touch consecutive values.
template <class Body>
__global__ void run_each(uint64_t items, Body body) {
  const uint64_t num_threads = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < items; i += num_threads) {
    body(static_cast<int64_t>(i));
  }
}

// Item i is a weight with its state.
template <class Step>
struct StepItems {
  Step step;
  DenseArraysThere arrays;
  float scale, bound;

  constexpr void operator()(int64_t i) const {
    float none = 0;
    float& first = Step::kArrays > 0 ? arrays.state[i] : none;
    float& second = Step::kArrays > 1 ? arrays.state[arrays.size + i] : none;
    step(arrays.weights[i], first, second, clip(arrays.gradient[i] * scale, bound));
  }
};

// Uploads are written to page-locked memory at once, and go to the device together, before the next piece
// of work that may read them: so run_items, add_product, copy, receive and download begin with
// uploads_.send.  step works on arrays of the device alone, and needs none.  All work is in one stream,
// which keeps its order.
class GpuKernels final : public ModelDevice {
 public:
  explicit GpuKernels(std::unique_ptr<gpu::Device> device)
      : device_(std::move(device)),
        host_memory_(*device_),
        uploads_(*device_, host_memory_),
        downloads_(*device_, host_memory_),
        stream_(*device_) {}

  gpu::Stream& stream() { return stream_; }

  uint64_t free_bytes() const override { return device_->memory().free_bytes; }
  void* allocate(uint64_t bytes) override { return device_->allocate(bytes); }
  void release(void* memory) noexcept override { device_->release(memory); }

  void send(void* to, const void* from, uint64_t bytes) override {
    if (bytes > 0) stream_.copy_to_device(to, from, bytes);
  }
  void receive(void* to, const void* from, uint64_t bytes) override {
    uploads_.send(stream_);
    if (bytes > 0) stream_.copy_to_host(to, from, bytes);
    stream_.synchronize();
  }
  void copy(void* to, const void* from, uint64_t bytes) override {
    uploads_.send(stream_);
    if (bytes > 0) stream_.copy_on_device(to, from, bytes);
  }
  void wait() override { stream_.synchronize(); }

  Upload upload(uint64_t bytes) override { return uploads_.add(bytes); }
  const void* download(const void* from, uint64_t bytes) override {
    uploads_.send(stream_);
    void* const to = downloads_.add(bytes).here;
    if (bytes > 0) stream_.copy_to_host(to, from, bytes);
    return to;
  }
  // Arrays are known by their address, which stands for one array until begin_batch: callers keep it
  // unchanged for the batch.  An array that is longer than the one that was sent from there is another one, and
  // is sent too.
  const void* mirror(const void* host, uint64_t bytes) override {
    Mirrored& known = mirrored_[host];
    if (known.there != nullptr && bytes <= known.bytes) return known.there;
    const Upload array = uploads_.add(bytes);
    std::memcpy(array.here, host, bytes);
    known = {array.there, bytes};
    return array.there;
  }
  void begin_batch() override {
    stream_.synchronize();
    uploads_.clear();
    downloads_.clear();
    mirrored_.clear();
  }

  void run_items(int64_t items, const AnyItems& body) override {
    uploads_.send(stream_);
    std::visit([&](const auto& each) { run_items_of(items, each); }, body);
  }

  void add_product(const Factor& a, const Factor& b, int64_t m, int64_t n, int64_t k, float* out) override {
    uploads_.send(stream_);
    gpu::multiply(stream_, {a.data, a.cols, a.transposed}, {b.data, b.cols, b.transposed}, m, n, k, 1.0f, out,
                  n);
  }

  // Compiles a loop for each optimizer's step.  std::monostate is a step that changes nothing.
  void step(const CurrentStep<float>& step, float scale, const DenseArraysThere& arrays) override {
    std::visit(
        [&](const auto& rule) {
          using Step = std::remove_cvref_t<decltype(rule)>;
          if constexpr (!std::is_same_v<Step, std::monostate>)
            run_items_of(arrays.size, StepItems<Step>{rule, arrays, scale, step.bound});
        },
        step.step);
  }

 private:
  // The copy of an array of the host.
  struct Mirrored {
    const void* there = nullptr;
    uint64_t bytes = 0;
  };

  // Starts as many threads as the device can have at once, or fewer if there are fewer items; run_each has
  // the loop over the rest.
  template <class Body>
  void run_items_of(int64_t items, const Body& body) {
    const unsigned most_blocks = std::max(1u, device_->limits().resident_threads / kThreads);
    const unsigned blocks = gpu::blocks_for(static_cast<uint64_t>(items), kThreads);
    gpu::launch(run_each<Body>, std::min(most_blocks, blocks), kThreads, 0, stream_,
                static_cast<uint64_t>(items), body);
  }

  const std::unique_ptr<gpu::Device> device_;
  gpu::HostMemory host_memory_;
  BatchArrays<true> uploads_;
  BatchArrays<false> downloads_;
  std::unordered_map<const void*, Mirrored> mirrored_;  // by array of the host
  gpu::Stream stream_;  // destroyed first, and then waits for work on all of these
};

}  // namespace

std::shared_ptr<ModelDevice> make_gpu_kernels(std::unique_ptr<gpu::Device> device) {
  return std::make_shared<GpuKernels>(std::move(device));
}

gpu::Stream* stream_of(ModelDevice& device) {
  GpuKernels* const kernels = dynamic_cast<GpuKernels*>(&device);
  return kernels == nullptr ? nullptr : &kernels->stream();
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
