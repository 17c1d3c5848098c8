#include "model/cuda/gpu_kernels.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "gpu/algorithms.h"
#include "model/cuda/batch_transfers.h"
#include "model/cuda/held_work.h"
#include "optim/kernels/arithmetic.h"
#include "optim/kernels/idle.h"

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

// The same with a body in memory of the device.
template <class Body>
__global__ void run_each_of(uint64_t items, const Body* body) {
  const uint64_t num_threads = uint64_t{gridDim.x} * blockDim.x;
  const Body own = *body;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < items; i += num_threads) {
    own(static_cast<int64_t>(i));
  }
}

// A block of two warps adds up the terms of a sum, in tiles that pass through shared memory.  Every thread of the second warp
// loads some terms of the next tile while the first thread of the block adds those of the present one in their order, so
// that it does not wait for memory at each.  A term of another sum is there to be added 0 times.
constexpr unsigned kTermThreads = 2 * gpu::kWarpSize;
constexpr int64_t kTileTerms = 4 * gpu::kWarpSize;

__global__ void add_terms(AddMeasureTermItems items) {
  PS_SHARED_ARRAY(double, values, 2 * kTileTerms);
  PS_SHARED_ARRAY(int32_t, times, 2 * kTileTerms);
  const int64_t s = blockIdx.x;
  const MeasureTerm* const column = items.column(s);
  const auto load = [&](int64_t tile) {
    for (int64_t i = threadIdx.x % gpu::kWarpSize; i < kTileTerms; i += gpu::kWarpSize) {
      const int64_t b = tile * kTileTerms + i, to = tile % 2 * kTileTerms + i;
      if (b >= items.size) return;
      const MeasureTerm term = column[b];
      values[to] = term.value;
      times[to] = term.sum == s ? term.times : 0;
    }
  };
  const bool loads = threadIdx.x >= gpu::kWarpSize;
  if (loads) load(0);
  CompensatedSum sum = items.sums[s];
  for (int64_t tile = 0; tile * kTileTerms < items.size; ++tile) {
    gpu::sync_block();  // the tile has come, and the one before it has been added
    if (loads) load(tile + 1);
    if (threadIdx.x != 0) continue;
    const int64_t begin = tile * kTileTerms, from = tile % 2 * kTileTerms;
    for (int64_t i = 0; i < kTileTerms && begin + i < items.size; ++i) {
      for (int32_t time = 0; time < times[from + i]; ++time) sum.add(values[from + i]);
    }
  }
  if (threadIdx.x == 0) items.sums[s] = sum;
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

// Item i is a weight, which its mean takes in after a step.  The dither depends on its column, as on the processor.
struct MeanItems {
  MeanChange change;
  int64_t dither, cols;
  const float* weights;
  float* mean;

  constexpr void operator()(int64_t i) const {
    hold_mean(change, Dither(dither).at(static_cast<uint64_t>(i % cols)), weights[i], mean[i]);
  }
};

// Uploads are written to page-locked memory at once, and go to the device together, before the next piece
// of work that may read them: so run_items, add_product, copy, receive and download begin with
// send_uploads.  step works on arrays of the device alone, and needs none but its rule.  All work is in one
// stream, which keeps its order; what is held back (HeldWork) goes there before anything that waits for it.
class GpuKernels final : public ModelDevice {
 public:
  explicit GpuKernels(std::unique_ptr<gpu::Device> device)
      : device_(std::move(device)),
        host_memory_(*device_),
        uploads_(*device_, host_memory_),
        rules_(*device_, host_memory_),
        downloads_(*device_, host_memory_),
        stream_(*device_),
        held_(stream_) {}

  gpu::Stream& stream() { return stream_; }

  uint64_t free_bytes() const override { return device_->memory().free_bytes; }
  void* allocate(uint64_t bytes) override {
    start_held();
    return device_->allocate(bytes);
  }
  // Held work may use the memory.  Its error, if it has one, is thrown when somebody waits.
  void release(void* memory) noexcept override {
    try {
      start_held();
    } catch (...) {
      if (error_ == nullptr) error_ = std::current_exception();
    }
    device_->release(memory);
  }

  void send(void* to, const void* from, uint64_t bytes) override {
    add_rules();
    if (bytes > 0) copy_to_device(to, from, bytes);
  }
  void receive(void* to, const void* from, uint64_t bytes) override {
    send_uploads();
    start_held();
    if (bytes > 0) stream_.copy_to_host(to, from, bytes);
    synchronize();
  }
  void copy(void* to, const void* from, uint64_t bytes) override {
    send_uploads();
    if (bytes == 0) return;
    held_.add([=](gpu::Stream& stream) { stream.copy_on_device(to, from, bytes); }, to, from, bytes);
  }
  void wait() override {
    start_held();
    synchronize();
  }

  Upload upload(uint64_t bytes) override { return uploads_.add(bytes); }
  const void* download(const void* from, uint64_t bytes) override {
    send_uploads();
    void* const to = downloads_.add(bytes).here;
    if (bytes > 0)
      held_.add([=](gpu::Stream& stream) { stream.copy_to_host(to, from, bytes); }, to, from, bytes);
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
    start_held();
    synchronize();
    uploads_.clear();
    downloads_.clear();
    rules_.clear();
    mirrored_.clear();
  }

  void hold_work(BatchPart part) override { held_.begin(part); }
  void start_work() override {
    add_rules();
    held_.end();
  }
  StartedWork started_work() const override { return held_.counts(); }

  void run_items(int64_t items, const AnyItems& body) override {
    send_uploads();
    std::visit([&](const auto& each) { run_items_of(items, each); }, body);
  }

  void add_product(const Factor& a, const Factor& b, int64_t m, int64_t n, int64_t k, float* out) override {
    send_uploads();
    held_.add(
        [=](gpu::Stream& stream) {
          gpu::multiply(stream, {a.data, a.cols, a.transposed}, {b.data, b.cols, b.transposed}, m, n, k, 1.0f,
                        out, n);
        },
        a.data, a.cols, a.transposed, b.data, b.cols, b.transposed, m, n, k, out);
  }

  // Compiles a loop for each optimizer's step.  std::monostate is a step that changes nothing.
  void step(const CurrentStep<float>& step, float scale, const DenseArraysThere& arrays) override {
    std::visit(
        [&](const auto& rule) {
          using Step = std::remove_cvref_t<decltype(rule)>;
          if constexpr (!std::is_same_v<Step, std::monostate>)
            run_rule(arrays.size, StepItems<Step>{rule, arrays, scale, step.bound});
        },
        step.step);
    if (!step.mean) return;
    PS_CHECK(arrays.mean != nullptr);
    run_rule(arrays.size,
             MeanItems{step.mean->mean, step.mean->dither, arrays.cols, arrays.weights, arrays.mean});
  }

 private:
  // The copy of an array of the host.
  struct Mirrored {
    const void* there = nullptr;
    uint64_t bytes = 0;
  };

  void start_held() {
    add_rules();
    held_.start();
  }
  void synchronize() {
    stream_.synchronize();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void copy_to_device(void* to, const void* from, uint64_t bytes) {
    held_.add([=](gpu::Stream& stream) { stream.copy_to_device(to, from, bytes); }, to, from, bytes);
  }
  void send_uploads() {
    add_rules();
    uploads_.send([&](void* to, const void* from, uint64_t bytes) { copy_to_device(to, from, bytes); });
  }

  // Returns as many blocks as the device can have at once, or fewer if there are fewer items; the kernels have a loop
  // over the rest.
  unsigned blocks_of(int64_t items) const {
    const unsigned most_blocks = std::max(1u, device_->limits().resident_threads / kThreads);
    return std::min(most_blocks, gpu::blocks_for(static_cast<uint64_t>(items), kThreads));
  }

  template <class Body>
  void run_items_of(int64_t items, const Body& body) {
    held_.add(
        [blocks = blocks_of(items), items, body](gpu::Stream& stream) {
          gpu::launch(run_each<Body>, blocks, kThreads, 0, stream, static_cast<uint64_t>(items), body);
        },
        items, body);
  }

  // Many sums keep the device busy without tiles, one thread each.
  void run_items_of(int64_t sums, const AddMeasureTermItems& body) {
    constexpr int64_t kMostInTiles = 128;
    if (sums > kMostInTiles) return run_items_of<AddMeasureTermItems>(sums, body);
    held_.add(
        [sums, body](gpu::Stream& stream) {
          gpu::launch(add_terms, static_cast<unsigned>(sums), kTermThreads, 0, stream, body);
        },
        sums, body);
  }

  // The constants of a rule are others in each step, as those of adam are.  While work is held, they go to the device as an
  // array that lies in the same place each time, so that the work stays the same; and all rules that follow each other
  // go there together.
  template <class Body>
  void run_rule(int64_t items, const Body& body) {
    if (!held_.holds()) return run_items_of(items, body);
    const Upload constants = rules_.add(sizeof(Body));
    std::memcpy(constants.here, &body, sizeof(Body));
    const Body* const there = static_cast<const Body*>(constants.there);
    rules_to_run_.push_back([this, items, there] {
      held_.add(
          [blocks = blocks_of(items), items, there](gpu::Stream& stream) {
            gpu::launch(run_each_of<Body>, blocks, kThreads, 0, stream, static_cast<uint64_t>(items), there);
          },
          items, there);
    });
  }
  void add_rules() {
    if (rules_to_run_.empty()) return;
    rules_.send([&](void* to, const void* from, uint64_t bytes) { copy_to_device(to, from, bytes); });
    for (const auto& add : std::exchange(rules_to_run_, {})) add();
  }

  const std::unique_ptr<gpu::Device> device_;
  gpu::HostMemory host_memory_;
  BatchArrays<true> uploads_, rules_;
  BatchArrays<false> downloads_;
  std::vector<std::function<void()>> rules_to_run_;     // rules whose constants have not been sent
  std::unordered_map<const void*, Mirrored> mirrored_;  // by array of the host
  gpu::Stream stream_;  // destroyed before these, and then waits for work on all of them
  HeldWork held_;
  std::exception_ptr error_;  // error of held work that was started by a release
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
