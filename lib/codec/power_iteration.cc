#include "codec/power_iteration.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/random.h"

namespace ps {

namespace {

// Divides a vector by its norm.  Returns false and sets it to zero when the norm is negligible.
bool normalise(const VectorKernels& kernels, float* vector, int64_t n) {
  const double norm = std::sqrt(kernels.sum_of_squares(vector, n));
  const bool any = norm > kLeastNorm;
  for (int64_t i = 0; i < n; ++i)
    vector[i] = any ? static_cast<float>(static_cast<double>(vector[i]) / norm) : 0;
  return any;
}

}  // namespace

// Directions of the last step stay; only a vector that is zero is drawn anew, from numbers that do not
// depend on the order of work.
void warm_start(const VectorKernels& kernels, const FactorShape& shape, uint64_t seed, uint64_t key,
                uint64_t step, std::span<float> q) {
  for (int64_t k = 0; k < shape.rank; ++k) {
    float* vector = q.data() + k * shape.cols;
    if (normalise(kernels, vector, shape.cols)) continue;
    Random random(hash_key(seed) ^ key, hash_key(step) + static_cast<uint64_t>(k));
    for (int64_t j = 0; j < shape.cols; ++j) vector[j] = static_cast<float>(random.normal());
    normalise(kernels, vector, shape.cols);
  }
}

void multiply(const VectorKernels& kernels, const FactorShape& shape, std::span<const float> matrix,
              std::span<const float> q, std::span<float> p) {
  for (int64_t i = 0; i < shape.rows; ++i) {
    const float* row = matrix.data() + i * shape.cols;
    for (int64_t k = 0; k < shape.rank; ++k)
      p[static_cast<size_t>(k * shape.rows + i)] = kernels.dot(row, q.data() + k * shape.cols, shape.cols);
  }
}

// Orthogonalising twice is enough (Giraud et al., 2005).  The remainder of a vector that depends linearly on the
// vectors before it is noise.
void orthogonalise(const VectorKernels& kernels, const FactorShape& shape, std::span<float> p) {
  for (int64_t k = 0; k < shape.rank; ++k) {
    float* vector = p.data() + k * shape.rows;
    normalise(kernels, vector, shape.rows);
    for (int64_t other = 0; other < 2 * k; ++other) {
      const float* before = p.data() + other % k * shape.rows;
      kernels.add_scaled(before, -kernels.dot(before, vector, shape.rows), shape.rows, vector);
    }
    normalise(kernels, vector, shape.rows);
  }
}

// Goes down the rows of M, each of which is added to all vectors of Q while it is in the cache.
void multiply_transposed(const VectorKernels& kernels, const FactorShape& shape,
                         std::span<const float> matrix, std::span<const float> p, std::span<float> q) {
  std::ranges::fill(q, 0.0f);
  for (int64_t i = 0; i < shape.rows; ++i) {
    const float* row = matrix.data() + i * shape.cols;
    for (int64_t k = 0; k < shape.rank; ++k) {
      kernels.add_scaled(row, p[static_cast<size_t>(k * shape.rows + i)], shape.cols,
                         q.data() + k * shape.cols);
    }
  }
}

// Vectors are added in order, which fixes the bits of the sum.
void product_row(const VectorKernels& kernels, const FactorShape& shape, std::span<const float> p,
                 std::span<const float> q, int64_t row, float* out) {
  std::fill_n(out, shape.cols, 0.0f);
  for (int64_t k = 0; k < shape.rank; ++k) {
    kernels.add_scaled(q.data() + k * shape.cols, p[static_cast<size_t>(k * shape.rows + row)], shape.cols,
                       out);
  }
}

}  // namespace ps
