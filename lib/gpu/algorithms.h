// Algorithms on arrays in device memory that are not worth writing again: CUB and cuBLAS on CUDA, the
// standard library and Eigen in the emulator, with one contract.  Used by device tables and models.
//
// All are queued on a stream.  Counts that come out stay on the device.  Outputs do not overlap inputs,
// except where a function says so.
#ifndef PS_GPU_ALGORITHMS_H_
#define PS_GPU_ALGORITHMS_H_

#include <cstdint>

#include "gpu/device.h"

namespace ps::gpu {

inline namespace PS_GPU_NAMESPACE {

// Device memory that algorithms use while they run; it grows to the most that one needed.  One for each
// stream.
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

struct KeyPairs {
  const uint64_t* keys;
  const uint32_t* values;
  uint64_t* sorted_keys;
  uint32_t* sorted_values;
  int64_t size;
};

// Sorts by the bits [0, num_bits) of the keys; pairs whose bits are equal stay in order.
void sort_pairs(Stream& stream, Workspace& workspace, const KeyPairs& pairs, int num_bits = 64);

// out[i] = in[0] + ... + in[i - 1].  out may be in.
void exclusive_scan(Stream& stream, Workspace& workspace, const uint32_t* in, uint32_t* out, int64_t size);

// Runs of equal keys: the key and the length of each, and how many there are.
//   keys [size] -> run_keys, lengths [num_runs <= size]
void find_runs(Stream& stream, Workspace& workspace, const uint64_t* keys, int64_t size, uint64_t* run_keys,
               uint32_t* lengths, uint32_t* num_runs);

// The values whose flag is not 0, in order.
//   values, flags [size] -> selected [num_selected <= size]
void select(Stream& stream, Workspace& workspace, const uint32_t* values, const uint8_t* flags, int64_t size,
            uint32_t* selected, uint32_t* num_selected);

// A matrix in rows, which follow each other `stride` apart; `transposed`: its columns are the rows of the
// operand.
struct DeviceMatrix {
  const float* data;
  int64_t stride;
  bool transposed = false;
};

// c [m, n] = a [m, k] b [k, n] + beta c, c's rows being `stride` apart.  Sums run in an order that is the
// same each time, and not the same for CUDA and the emulator: an element is off by at most k 2^-23 times the
// sum of the absolute products.
void multiply(Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b, int64_t m, int64_t n, int64_t k,
              float beta, float* c, int64_t stride);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::gpu

#endif  // PS_GPU_ALGORITHMS_H_
