#include "device/dense_on_device.h"

#include "base/error.h"

namespace ps {

DenseOnDevice::DenseOnDevice(LocalStore& store, int parameter, Device& device, ModelDevice& kernels)
    : store_(store), parameter_(parameter), device_(device), kernels_(kernels) {
  store_.lend_dense(parameter, *this);
}

uint64_t DenseOnDevice::bytes_of(const LocalStore& store, const ParameterSpec& spec, int parameter) {
  const uint64_t arrays = 2 + static_cast<uint64_t>(store.optimizer(parameter).state_arrays());
  return static_cast<uint64_t>(spec.rows * spec.cols) * arrays * sizeof(float);
}

// The first pull moves the parameter to the device: floats_ has the weights, and behind them each array of
// the optimizer's state, size_ floats in each.  Later pulls only point to that memory.
void DenseOnDevice::pull(ParameterView<float>& view) {
  if (!is_there_) {
    store_.copy_stored(parameter_, floats_);
    size_ = std::ssize(floats_) / (1 + store_.optimizer(parameter_).state_arrays());
    stored_.resize(device_, std::ssize(floats_));
    gradient_.resize(device_, size_);
    kernels_.send(stored_.data(), floats_.data(), stored_.bytes());
    kernels_.wait();
    is_there_ = true;
  }
  view = {.value = stored_.data(), .gradient = gradient_.data(), .there = true};
}

void DenseOnDevice::set_gradient(std::span<const float> values) {
  PS_CHECK(is_there_ && std::ssize(values) == size_);
  kernels_.send(gradient_.data(), values.data(), values.size_bytes());
  kernels_.wait();
}

void DenseOnDevice::get_gradient(std::span<float> values) {
  PS_CHECK(is_there_ && std::ssize(values) == size_);
  kernels_.receive(values.data(), gradient_.data(), values.size_bytes());
}

// The state follows the weights in stored_, so the step gets one address for each; a mean is its last array.
void DenseOnDevice::push() {
  const auto step = store_.optimizer(parameter_).current_step();
  PS_CHECK(is_there_ && step);
  float* const mean = step->mean ? stored_.data() + stored_.size() - size_ : nullptr;
  kernels_.step(*step, store_.last_scale(parameter_),
                {size_, store_.layout(parameter_).width, stored_.data(), stored_.data() + size_, mean,
                 gradient_.data()});
  changed_ = true;
}

// The copy here is kept: it goes on being trained, and the store has the values of this moment.
void DenseOnDevice::put_back() {
  if (!changed_) return;
  changed_ = false;
  kernels_.receive(floats_.data(), stored_.data(), stored_.bytes());
  store_.set_stored(parameter_, floats_);
}

void DenseOnDevice::return_all() {
  put_back();
  is_there_ = false;
}

}  // namespace ps
