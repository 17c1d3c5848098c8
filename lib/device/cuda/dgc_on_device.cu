#include "device/cuda/dgc_on_device.h"

#include <utility>

#include "base/error.h"
#include "codec/cuda/device_selection.h"
#include "model/cuda/gpu_kernels.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

constexpr unsigned kMoveThreads = 128;  // threads of a block

// Adds moves to the weights.  Each thread adds one move; the indices are distinct.
__global__ void add_moves(const uint32_t* index, const float* value, uint32_t size, float share,
                          float* weights) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) weights[index[i]] += share * value[i];
}

// Takes the sent values out of the arrays of a step.  Each thread takes one value; the indices are distinct.
// If velocity is null, it is kept.
__global__ void subtract_sent(const uint32_t* index, const float* value, uint32_t size, float* residual,
                              float* velocity) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  residual[index[i]] -= value[i];
  if (velocity != nullptr) velocity[index[i]] = 0;
}

// Returns true if the rounding of a value depends on all values that are sent; then the processor rounds them.
bool rounds_together(SparseEncoding encoding) {
  return rounds_values(encoding) && encoding != SparseEncoding::kVarintF16;
}

// The arrays of one parameter.  One owner thread.
class DgcOnDevice final : public DgcThere {
 public:
  DgcOnDevice(gpu::Stream& stream, uint64_t elements, Selection selection)
      : stream_(stream),
        elements_(elements),
        selector_(stream.device(), selection),
        weights_(stream.device(), static_cast<int64_t>(elements)),
        gradient_(stream.device(), static_cast<int64_t>(elements)),
        velocity_(stream.device(), static_cast<int64_t>(elements)),
        residual_(stream.device(), static_cast<int64_t>(elements)),
        sizes_(stream.device(), 2) {}

  float* weights() override { return weights_.data(); }
  float* gradient() override { return gradient_.data(); }

  void set_weights(std::span<const float> weights) override { set(weights_, weights); }
  void set_gradient(std::span<const float> gradient) override { set(gradient_, gradient); }
  void set_state(std::span<const float> velocity, std::span<const float> residual) override {
    set(velocity_, velocity);
    set(residual_, residual);
  }
  void get_state(std::span<float> velocity, std::span<float> residual) override {
    PS_CHECK(velocity.size() == elements_ && residual.size() == elements_);
    stream_.copy_to_host(velocity.data(), velocity_.data(), velocity.size_bytes());
    stream_.copy_to_host(residual.data(), residual_.data(), residual.size_bytes());
    stream_.synchronize();
  }

  // The device computes the moves, selects those to be sent and, unless rounding needs all of them, takes them
  // out of its arrays.  Otherwise the host rounds the selected values first.
  uint32_t step(const Step& step, SparseVector& selected) override {
    make_room(step.count);
    const DgcStep moves{.gradient = gradient_.data(),
                        .weights = step.l2 > 0 ? weights_.data() : nullptr,
                        .velocity = velocity_.data(),
                        .residual = residual_.data(),
                        .scale = step.scale,
                        .rate = step.rate,
                        .momentum = step.momentum,
                        .l2 = step.l2,
                        .nesterov = step.nesterov};
    const DeviceSent sent{.vector = {index_.data(), value_.data(), sizes_.data()},
                          .largest = sizes_.data() + 1,
                          .half = step.encoding == SparseEncoding::kVarintF16,
                          .factor_masking = step.factor_masking,
                          .takes_out = !rounds_together(step.encoding)};
    selector_.step(stream_, moves, elements_, step.count, step.draw, sent);
    const uint32_t largest = get_selected(selected);
    if (largest < kInfiniteSize && rounds_together(step.encoding) && selected.size() > 0)
      round_selected(step, selected);
    return largest;
  }

  // Sends the moves to the device and adds each to its weight; their indices are distinct, so threads do
  // not meet.
  void apply(const SparseVector& moves, float share) override {
    if (moves.size() == 0) return;
    make_room(moves.size());
    const uint32_t size = static_cast<uint32_t>(moves.size());
    stream_.copy_to_device(index_.data(), moves.index.data(), size * sizeof(uint32_t));
    stream_.copy_to_device(value_.data(), moves.value.data(), size * sizeof(float));
    gpu::launch(add_moves, gpu::blocks_for(size, kMoveThreads), kMoveThreads, 0, stream_, index_.data(),
                value_.data(), size, share, weights_.data());
    stream_.synchronize();  // the caller owns the moves
  }

 private:
  void set(gpu::DeviceArray<float>& array, std::span<const float> values) {
    if (values.empty()) return stream_.fill(array.data(), 0, array.bytes());
    PS_CHECK(values.size() == elements_);
    stream_.copy_to_device(array.data(), values.data(), values.size_bytes());
    stream_.synchronize();
  }

  // selected <- the selected moves.  Returns the largest size of a move.
  // The number of moves comes first, since it is the length of the copies that follow.
  uint32_t get_selected(SparseVector& selected) {
    uint32_t sizes[2];
    stream_.copy_to_host(sizes, sizes_.data(), sizeof sizes);
    stream_.synchronize();
    selected.index.resize(sizes[0]);
    selected.value.resize(sizes[0]);
    if (sizes[0] == 0) return sizes[1];
    stream_.copy_to_host(selected.index.data(), index_.data(), sizes[0] * sizeof(uint32_t));
    stream_.copy_to_host(selected.value.data(), value_.data(), sizes[0] * sizeof(float));
    stream_.synchronize();
    return sizes[1];
  }

  // Rounds the selected values, and takes them out of the arrays.
  void round_selected(const Step& step, SparseVector& selected) {
    const auto size = static_cast<uint32_t>(selected.size());
    round_values(step.encoding, selected.value);
    stream_.copy_to_device(value_.data(), selected.value.data(), size * sizeof(float));
    gpu::launch(subtract_sent, gpu::blocks_for(size, kMoveThreads), kMoveThreads, 0, stream_, index_.data(),
                value_.data(), size, residual_.data(), step.factor_masking ? velocity_.data() : nullptr);
    stream_.synchronize();  // the caller owns the values
  }

  void make_room(uint64_t moves) {
    const int64_t size = static_cast<int64_t>(moves);
    if (size <= index_.size()) return;
    index_ = gpu::DeviceArray<uint32_t>(stream_.device(), size);
    value_ = gpu::DeviceArray<float>(stream_.device(), size);
  }

  gpu::Stream& stream_;
  const uint64_t elements_;
  DeviceSelector selector_;
  gpu::DeviceArray<float> weights_, gradient_, velocity_, residual_;
  gpu::DeviceArray<uint32_t> sizes_;  // [2]: the number of sent moves, and the largest size of a move
  gpu::DeviceArray<uint32_t> index_;  // indices and values of moves
  gpu::DeviceArray<float> value_;
};

// Makes the arrays of parameters on the stream of the model.  One owner thread.
class DgcModelDevice final : public DgcDevice {
 public:
  DgcModelDevice(std::shared_ptr<ModelDevice> model, gpu::Stream& stream)
      : model_(std::move(model)), stream_(stream) {}
  std::unique_ptr<DgcThere> make(uint64_t elements, Selection selection) override {
    return std::make_unique<DgcOnDevice>(stream_, elements, selection);
  }

 private:
  const std::shared_ptr<ModelDevice> model_;  // keeps the stream alive
  gpu::Stream& stream_;
};

}  // namespace

std::shared_ptr<DgcDevice> make_dgc_on_device(std::shared_ptr<ModelDevice> model) {
  gpu::Stream* const stream = stream_of(*model);
  if (stream == nullptr) return nullptr;
  return std::make_shared<DgcModelDevice>(std::move(model), *stream);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
