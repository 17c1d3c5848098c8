// ArrayOn: an array in the memory of a device.  Both halves of gpu/device.h have it, as DeviceArray.
#ifndef PS_GPU_DEVICE_ARRAY_H_
#define PS_GPU_DEVICE_ARRAY_H_

#include <cstdint>
#include <type_traits>
#include <utility>

namespace ps::gpu {

// `size` values in the memory of a device.  `Memory` is the Device of either half.  The thread of the device owns
// it.
template <class Memory, class T>
class ArrayOn {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  ArrayOn() = default;
  ArrayOn(Memory& device, int64_t size)
      : device_(&device),
        data_(static_cast<T*>(device.allocate(static_cast<uint64_t>(size) * sizeof(T)))),
        size_(size) {}
  ArrayOn(ArrayOn&& other) noexcept { swap(other); }
  ArrayOn& operator=(ArrayOn&& other) noexcept {
    ArrayOn(std::move(other)).swap(*this);
    return *this;
  }
  ~ArrayOn() {
    if (data_ != nullptr) device_->release(data_);
  }

  T* data() const { return data_; }
  int64_t size() const { return size_; }
  uint64_t bytes() const { return static_cast<uint64_t>(size_) * sizeof(T); }

 private:
  void swap(ArrayOn& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  Memory* device_ = nullptr;
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace ps::gpu

#endif  // PS_GPU_DEVICE_ARRAY_H_
