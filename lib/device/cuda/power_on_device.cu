#include "device/cuda/power_on_device.h"

#include "base/error.h"
#include "codec/cuda/device_power_iteration.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// One owner thread. residual_ [rows, cols], p_ and q_ are the factors.
class PowerOnDevice final : public PowerThere {
 public:
  PowerOnDevice(gpu::Stream& stream, const FactorShape& shape)
      : stream_(stream),
        shape_(shape),
        p_(stream.device(), static_cast<int64_t>(shape.p_values())),
        q_(stream.device(), static_cast<int64_t>(shape.q_values())),
        residual_(stream.device(), shape.rows * shape.cols) {
    PS_CHECK(residual_.size() > 0);
    stream_.fill(residual_.data(), 0, residual_.bytes());
  }

  void set_residual(std::span<const float> residual) override {
    send(residual, residual_);
    stream_.synchronize();
  }
  void get_residual(std::span<float> residual) override {
    get(residual_, residual);
    stream_.synchronize();
  }

  // A step has three parts, between which the trainers add up P and Q.  All calls are queued on one stream,
  // so that each kernel finds the results of the one before it, and none of them waits for the host.
  void begin(float* values, float samples, std::span<const float> q, std::span<float> p) override {
    add_scaled_there(stream_, residual_.size(), residual_.data(), samples, values);
    send(q, q_);
    multiply_there(stream_, shape_, values, q_.data(), p_.data());
    get(p_, p);
  }

  void keep_rest(const float* values, float scale, std::span<const float> p, std::span<float> q) override {
    send(p, p_);
    orthogonalise_there(stream_, shape_, p_.data());
    multiply_transposed_there(stream_, shape_, values, p_.data(), q_.data());
    keep_rest_there(stream_, {shape_, p_.data(), q_.data()}, values, scale, residual_.data());
    get(q_, q);
  }

  void end(std::span<const float> q, float* values) override {
    send(q, q_);
    set_product(stream_, {shape_, p_.data(), q_.data()}, 1, values);
  }

 private:
  void send(std::span<const float> from, gpu::DeviceArray<float>& to) {
    PS_CHECK(from.size_bytes() == to.bytes());
    stream_.copy_to_device(to.data(), from.data(), to.bytes());
  }
  void get(const gpu::DeviceArray<float>& from, std::span<float> to) {
    PS_CHECK(to.size_bytes() == from.bytes());
    stream_.copy_to_host(to.data(), from.data(), from.bytes());
  }

  gpu::Stream& stream_;
  const FactorShape shape_;
  gpu::DeviceArray<float> p_, q_, residual_;
};

}  // namespace

std::unique_ptr<PowerThere> make_power_on_device(gpu::Stream& stream, const FactorShape& shape) {
  return std::make_unique<PowerOnDevice>(stream, shape);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
