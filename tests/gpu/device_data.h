// Values to device memory and back.  Used by the tests of device code.
#ifndef PS_TESTS_GPU_DEVICE_DATA_H_
#define PS_TESTS_GPU_DEVICE_DATA_H_

#include <vector>

#include "gpu/device.h"

namespace ps {

// Queued: `values` stays until the stream is waited for.
template <class T>
gpu::DeviceArray<T> upload(gpu::Stream& stream, const std::vector<T>& values) {
  gpu::DeviceArray<T> array(stream.device(), static_cast<int64_t>(values.size()));
  stream.copy_to_device(array.data(), values.data(), array.bytes());
  return array;
}

// Waits for the stream.
template <class T>
std::vector<T> download(gpu::Stream& stream, const gpu::DeviceArray<T>& array) {
  std::vector<T> values(static_cast<size_t>(array.size()));
  stream.copy_to_host(values.data(), array.data(), array.bytes());
  stream.synchronize();
  return values;
}

// `size` values, all alike.
template <class T>
gpu::DeviceArray<T> filled(gpu::Stream& stream, int64_t size, unsigned char byte) {
  gpu::DeviceArray<T> array(stream.device(), size);
  stream.fill(array.data(), byte, array.bytes());
  return array;
}

}  // namespace ps

#endif  // PS_TESTS_GPU_DEVICE_DATA_H_
