// The arithmetic of PowerSGD (Vogels et al., NeurIPS 2019): a matrix as the product of two narrow ones, by a
// step of power iteration.  Used by the codec low_rank, which encodes the factors of one trainer, and by the
// strategy power_sgd, in which trainers add up their factors.
//
//   M [rows, cols], P [rank, rows], Q [rank, cols]: a vector after the other in P and in Q
//   P <- M Q          P <- Gram-Schmidt(P)          Q <- M^T P          M is about P^T Q
//
// Sums run in a fixed order, which is the same at every level of kernels, and on devices (codec/cuda/device_power_iteration.h).
#ifndef PS_CODEC_POWER_ITERATION_H_
#define PS_CODEC_POWER_ITERATION_H_

#include <cstdint>
#include <span>

#include "codec/vector_kernels.h"

namespace ps {

inline constexpr double kLeastNorm = 1e-30;  // a vector with a norm up to this counts as zero

struct FactorShape {
  int64_t rank = 1, rows = 0, cols = 0;

  // Returns true if the factors have fewer values than the matrix.
  bool pays() const { return rank * (rows + cols) < rows * cols; }
  size_t p_values() const { return static_cast<size_t>(rank * rows); }
  size_t q_values() const { return static_cast<size_t>(rank * cols); }
};

// Normalises each vector of Q.  A vector of zeros, which occurs before the first step and for a matrix of lower
// rank, is replaced by a random one from (seed, key of the parameter, step, number of the vector).
void warm_start(const VectorKernels& kernels, const FactorShape& shape, uint64_t seed, uint64_t key,
                uint64_t step, std::span<float> q);

// P <- M Q
void multiply(const VectorKernels& kernels, const FactorShape& shape, std::span<const float> matrix,
              std::span<const float> q, std::span<float> p);

// P <- vectors of length 1 that are orthogonal to each other.  If a vector depends linearly on those before it,
// its remainder after rounding is normalised instead; it becomes zero if nothing remains.
void orthogonalise(const VectorKernels& kernels, const FactorShape& shape, std::span<float> p);

// Q <- M^T P
void multiply_transposed(const VectorKernels& kernels, const FactorShape& shape,
                         std::span<const float> matrix, std::span<const float> p, std::span<float> q);

// out [cols] <- row number `row` of P^T Q
void product_row(const VectorKernels& kernels, const FactorShape& shape, std::span<const float> p,
                 std::span<const float> q, int64_t row, float* out);

}  // namespace ps

#endif  // PS_CODEC_POWER_ITERATION_H_
