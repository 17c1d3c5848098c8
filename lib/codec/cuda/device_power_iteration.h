// The arithmetic of PowerSGD (codec/power_iteration.h) on a device: matrices, factors and residuals have the
// same bits as on the processor, since every sum runs in the same lanes and the same order.  Compiled for CUDA
// and for the emulator; used by code that compresses gradients there.
//
// All calls are queued, and arrays lie in the memory of the stream's device:  M [rows, cols], P [rank, rows], Q [rank, cols].
//
// A product reads M once for each four vectors.  A dot product is computed by 16 threads, one for each lane; a
// value of M^T P by one thread, which goes down a column.  One block orthogonalises P: vector after vector, as
// the processor does.
#ifndef PS_CODEC_CUDA_DEVICE_POWER_ITERATION_H_
#define PS_CODEC_CUDA_DEVICE_POWER_ITERATION_H_

#include <cstdint>

#include "codec/power_iteration.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// P <- M Q
void multiply_there(gpu::Stream& stream, const FactorShape& shape, const float* matrix, const float* q,
                    float* p);

// P <- vectors of length 1 that are orthogonal to each other
void orthogonalise_there(gpu::Stream& stream, const FactorShape& shape, float* p);

// Q <- M^T P
void multiply_transposed_there(gpu::Stream& stream, const FactorShape& shape, const float* matrix,
                               const float* p, float* q);

// The factors P and Q of a product P^T Q [rows, cols].
struct FactorsThere {
  FactorShape shape;
  const float *p, *q;
};
void set_product(gpu::Stream& stream, const FactorsThere& factors, float divisor,
                 float* values);  // / divisor
void add_product(gpu::Stream& stream, const FactorsThere& factors, float* sums);

// sums -= P^T Q; a difference that is not finite becomes zero.
void subtract_product(gpu::Stream& stream, const FactorsThere& factors, float* sums);

// rest <- scale x (values - P^T Q)
void keep_rest_there(gpu::Stream& stream, const FactorsThere& factors, const float* values, float scale,
                     float* rest);

// values [size] /= divisor, and values [size] += factor x others
void divide_there(gpu::Stream& stream, int64_t size, float divisor, float* values);
void add_scaled_there(gpu::Stream& stream, int64_t size, const float* others, float factor, float* values);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_CODEC_CUDA_DEVICE_POWER_ITERATION_H_
