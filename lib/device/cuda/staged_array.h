// StagedArray: an array on the host and its copy on a device, by which the calls for rows travel.  Used by RowsGroup and
// DividedGroup.
#ifndef PS_DEVICE_CUDA_STAGED_ARRAY_H_
#define PS_DEVICE_CUDA_STAGED_ARRAY_H_

#include <cstdint>

#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// An array on the host, in page-locked memory, and its copy on the device.
template <class T>
struct StagedArray {
  StagedArray() = default;
  StagedArray(gpu::Device& owner, gpu::HostMemory& memory, int64_t size)
      : host(memory, size), device(owner, size) {}

  gpu::HostArray<T> host;
  gpu::DeviceArray<T> device;
};

// These queue the copy of the first `size` values, to the device or from it.
template <class T>
void send(gpu::Stream& stream, const StagedArray<T>& array, int64_t size) {
  stream.copy_to_device(array.device.data(), array.host.data(), static_cast<uint64_t>(size) * sizeof(T));
}

template <class T>
void receive(gpu::Stream& stream, const StagedArray<T>& array, int64_t size) {
  stream.copy_to_host(array.host.data(), array.device.data(), static_cast<uint64_t>(size) * sizeof(T));
}

// Rounds a number of values up, so that the values of each table begin at a multiple of 16 bytes, since kernels
// read 16 bytes at a time.
constexpr uint64_t rounded_values(uint64_t values) {
  return (values + 3) / 4 * 4;
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_STAGED_ARRAY_H_
