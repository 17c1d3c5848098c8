// DeviceBuffer: an array in the memory of a Device.  Used by layers, costs and Network for what kernels compute.
#ifndef PS_MATH_DEVICE_BUFFER_H_
#define PS_MATH_DEVICE_BUFFER_H_

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "math/device.h"
#include "math/device_kernels.h"

namespace ps {

// One owner thread.  A buffer keeps its memory from batch to batch.  When it grows, its values are lost.  It may
// outlive its device.
template <class T>
class DeviceBuffer {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceBuffer() {
    if (there_ != nullptr) kernels_->release(there_);
  }

  // Throws kExhausted when the device has too little memory.
  void resize(Device& device, int64_t size) {
    if (device.kernels() != kernels_) *this = DeviceBuffer(device.kernels());
    size_ = size;
    if (kernels_ == nullptr) return here_.resize(static_cast<size_t>(size));
    if (size <= capacity_) return;
    if (there_ != nullptr) kernels_->release(std::exchange(there_, nullptr));
    capacity_ = 0;
    there_ = static_cast<T*>(kernels_->allocate(static_cast<uint64_t>(size) * sizeof(T)));
    capacity_ = size;
  }

  T* data() { return kernels_ == nullptr ? here_.data() : there_; }
  const T* data() const { return kernels_ == nullptr ? here_.data() : there_; }
  int64_t size() const { return size_; }
  uint64_t bytes() const { return static_cast<uint64_t>(size_) * sizeof(T); }

 private:
  explicit DeviceBuffer(std::shared_ptr<DeviceKernels> kernels) : kernels_(std::move(kernels)) {}

  void swap(DeviceBuffer& other) noexcept {
    std::swap(kernels_, other.kernels_);
    std::swap(here_, other.here_);
    std::swap(there_, other.there_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::shared_ptr<DeviceKernels> kernels_;  // null: the processor
  std::vector<T> here_;                     // the values, on the processor
  T* there_ = nullptr;                      // the values, on another device
  int64_t size_ = 0, capacity_ = 0;
};

}  // namespace ps

#endif  // PS_MATH_DEVICE_BUFFER_H_
