#include "gpu/algorithms.h"

#include <cublas_v2.h>

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <unordered_map>

namespace ps::gpu {

inline namespace PS_GPU_NAMESPACE {

namespace {

// Makes a call of CUB twice: first without memory, which returns the size that it needs, then with memory.
template <class Call>
void run_with(Workspace& workspace, Call call) {
  size_t bytes = 0;
  cuda_runtime::check(call(nullptr, bytes), "cannot size an algorithm");
  // CUB takes a null pointer for the question about the size, so that a call that needs no memory gets one
  // byte.
  void* memory = workspace.reserve(static_cast<int64_t>(bytes == 0 ? 1 : bytes));
  cuda_runtime::check(call(memory, bytes), "cannot run an algorithm");
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(Code::kInternal, what, ": ", cublasGetStatusString(status));
}

class Blas {
 public:
  Blas() {
    check(cublasCreate(&handle_), "cannot start cuBLAS");
    // Products are computed in float32 throughout, and not in a shorter type for speed.
    check(cublasSetMathMode(handle_, CUBLAS_PEDANTIC_MATH), "cannot start cuBLAS");
  }
  ~Blas() { cublasDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

// Returns this thread's handle for the device of a stream, to be used on that stream: making one takes milliseconds.
cublasHandle_t blas_of(const Stream& stream) {
  static thread_local std::unordered_map<int, Blas> handles;
  stream.device().use();
  const Blas& blas = handles[stream.device().ordinal()];
  check(cublasSetStream(blas.get(), stream.get()), "cannot use cuBLAS");
  return blas.get();
}

}  // namespace

template <class Key>
void sort_pairs(Stream& stream, Workspace& workspace, const KeyPairs<Key>& pairs, int num_bits) {
  run_with(workspace, [&](void* memory, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, pairs.keys, pairs.sorted_keys, pairs.values,
                                           pairs.sorted_values, pairs.size, 0, num_bits, stream.get());
  });
}

template void sort_pairs(Stream&, Workspace&, const KeyPairs<uint32_t>&, int);
template void sort_pairs(Stream&, Workspace&, const KeyPairs<uint64_t>&, int);

void exclusive_scan(Stream& stream, Workspace& workspace, const uint32_t* in, uint32_t* out, int64_t size) {
  run_with(workspace, [&](void* memory, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, in, out, size, stream.get());
  });
}

void find_runs(Stream& stream, Workspace& workspace, const uint64_t* keys, int64_t size, uint64_t* run_keys,
               uint32_t* lengths, uint32_t* num_runs) {
  run_with(workspace, [&](void* memory, size_t& bytes) {
    return cub::DeviceRunLengthEncode::Encode(memory, bytes, keys, run_keys, lengths, num_runs, size,
                                              stream.get());
  });
}

void select(Stream& stream, Workspace& workspace, const uint32_t* values, const uint8_t* flags, int64_t size,
            uint32_t* selected, uint32_t* num_selected) {
  run_with(workspace, [&](void* memory, size_t& bytes) {
    return cub::DeviceSelect::Flagged(memory, bytes, values, flags, selected, num_selected, size,
                                      stream.get());
  });
}

// cuBLAS expects column-major matrices.  A row-major matrix reads as its transpose, so this computes the
// transposed product, b^T a^T.
void multiply(Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b, int64_t m, int64_t n, int64_t k,
              float beta, float* c, int64_t stride) {
  if (m == 0 || n == 0) return;
  const float one = 1;
  // Where k is 0, nothing is read, but strides have to be positive.
  const auto stride_of = [](const DeviceMatrix& matrix) { return std::max(matrix.stride, int64_t{1}); };
  const auto operation = [](const DeviceMatrix& matrix) {
    return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  check(cublasSgemm_64(blas_of(stream), operation(b), operation(a), n, m, k, &one, b.data, stride_of(b),
                       a.data, stride_of(a), &beta, c, stride),
        "cannot multiply");
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::gpu
