// Standard algorithms on arrays in device memory, with the same contract on CUDA, where they call CUB and
// cuBLAS, and in the emulator, where they call the standard library and Eigen.  Used by device tables and
// models.
//
// All are queued on a stream.  Counts that they compute stay on the device.  Outputs do not overlap inputs,
// except where a function says so.
#ifndef PS_GPU_ALGORITHMS_H_
#define PS_GPU_ALGORITHMS_H_

#include <cstdint>

#include "gpu/device.h"

namespace ps::gpu {

inline namespace PS_GPU_NAMESPACE {

// Device memory that algorithms use while they run.  It grows to the largest size that a call needed.  Each
// stream needs its own.  The thread of the device owns it.
class Workspace {
 public:
  explicit Workspace(Device& device) : device_(device) {}

  // Throws kExhausted.
  void* reserve(int64_t bytes) {
    if (bytes > memory_.size()) {
      memory_ = {};
      memory_ = DeviceArray<char>(device_, bytes);
    }
    return memory_.data();
  }

 private:
  Device& device_;
  DeviceArray<char> memory_;
};

template <class Key>
struct KeyPairs {
  const Key* keys;
  const uint32_t* values;
  Key* sorted_keys;
  uint32_t* sorted_values;
  int64_t size;
};

// Sorts by the bits [0, num_bits) of the keys; pairs whose bits are equal stay in order.  Key is uint32_t or uint64_t.
template <class Key>
void sort_pairs(Stream& stream, Workspace& workspace, const KeyPairs<Key>& pairs,
                int num_bits = 8 * sizeof(Key));

// out[i] = in[0] + ... + in[i - 1].  out may be in.
void exclusive_scan(Stream& stream, Workspace& workspace, const uint32_t* in, uint32_t* out, int64_t size);

// Finds runs of equal keys: the key and the length of each run, and their number.
//   keys [size] -> run_keys, lengths [num_runs <= size]
void find_runs(Stream& stream, Workspace& workspace, const uint64_t* keys, int64_t size, uint64_t* run_keys,
               uint32_t* lengths, uint32_t* num_runs);

// Selects the values whose flag is not 0, in order.
//   values, flags [size] -> selected [num_selected <= size]
void select(Stream& stream, Workspace& workspace, const uint32_t* values, const uint8_t* flags, int64_t size,
            uint32_t* selected, uint32_t* num_selected);

// A row-major matrix whose rows are `stride` floats apart.  `transposed`: the operand is its transpose.
struct DeviceMatrix {
  const float* data;
  int64_t stride;
  bool transposed = false;
};

// c [m, n] = a [m, k] b [k, n] + beta c, where rows of c are `stride` floats apart.  The order of summation
// is the same in every call, but differs between CUDA and the emulator: the error of an element is at most k
// 2^-23 times the sum of the absolute products.
void multiply(Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b, int64_t m, int64_t n, int64_t k,
              float beta, float* c, int64_t stride);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::gpu

#endif  // PS_GPU_ALGORITHMS_H_
