// The parts of codecs that select values of a gradient on a device: they compute the sums from which values are
// selected, find the values of at least a size, and subtract or add the sent values.  Compiled for CUDA and for
// the emulator; used with DeviceSelector by lib/device/cuda/codec_on_device.cu.
//
// All calls are queued, and arrays lie in the memory of the stream's device.
#ifndef PS_CODEC_CUDA_DEVICE_SPARSE_CODEC_H_
#define PS_CODEC_CUDA_DEVICE_SPARSE_CODEC_H_

#include <cstdint>

#include "gpu/algorithms.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// sums [size] <- scale x values, or += if `add`.  `odd` is lowered to the least index of a sum that is not finite.
struct SumsThere {
  const float* values;
  float scale;
  float* sums;
  int64_t size;
  bool add;
  uint64_t* odd;
};
void make_sums(gpu::Stream& stream, const SumsThere& sums);

// Some values of an array with their indices, no two of which are equal.
struct SparseThere {
  const uint32_t* index;
  const float* value;
  uint32_t size;
};

// sums -= vector
void subtract_vector(gpu::Stream& stream, const SparseThere& vector, float* sums);

// values [size] <- vector / divisor, and zeros elsewhere
void set_dense(gpu::Stream& stream, const SparseThere& vector, float divisor, float* values, int64_t size);

// sums [size] += values
void add_dense(gpu::Stream& stream, const float* values, int64_t size, float* sums);

// Finds the values of at least a size, with their indices in ascending order.  Sizes are those of
// codec/kernels/vector_kernels.h.  One owner thread, and one stream.
class DeviceFinder {
 public:
  explicit DeviceFinder(gpu::Device& device) : workspace_(device) {}

  // num [1] <- the number of values [size] that have at least the size `least`
  void count(gpu::Stream& stream, const float* values, int64_t size, uint32_t least, uint32_t* num);

  // index, value [num] <- these values; to be called after count with the same arguments
  void write(gpu::Stream& stream, const float* values, int64_t size, uint32_t least, uint32_t* index,
             float* value);

 private:
  gpu::Workspace workspace_;
  gpu::DeviceArray<uint32_t> begins_;  // [tiles + 1]: position of the first value of each tile
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_CODEC_CUDA_DEVICE_SPARSE_CODEC_H_
