#include "codec/cuda/device_power_iteration.h"

#include <cmath>

#include "math/kernels/half.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

constexpr unsigned kPowerThreads = 256;  // threads of a block
constexpr int kSumLanes = 16;            // lanes of a sum, as in codec/kernels/lanes.h
constexpr int kTogether = 4;             // number of vectors whose sums a thread has at once

__device__ int64_t power_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

unsigned power_blocks(int64_t threads) {
  return gpu::blocks_for(static_cast<uint64_t>(threads), kPowerThreads);
}

constexpr int64_t groups_of(int64_t rank) {
  return (rank + kTogether - 1) / kTogether;
}

// Half a warp computes one row for a group of vectors.  All threads of a warp take part in the exchange of
// lanes, also those without a row.
//   p[first + k, row] <- sum over j of matrix[row, j] q[first + k, j]      for k in [0, kTogether)
// Lane `own` sums every 16th column from its own on, as the lanes of the processor do, and then all lanes
// are added in order, so that the bits are the same.  A value of the matrix is read once for all vectors of
// the group.
__global__ void multiply_rows(FactorShape shape, const float* matrix, const float* q, float* p) {
  const int64_t groups = groups_of(shape.rank), item = power_thread() / kSumLanes;
  const int64_t row = item / groups, first = item % groups * kTogether;
  const int own = static_cast<int>(power_thread() % kSumLanes);
  float sums[kTogether] = {};
  for (int64_t j = own; row < shape.rows && j < shape.cols; j += kSumLanes) {
    const float value = matrix[row * shape.cols + j];
    for (int k = 0; k < kTogether; ++k) {
      if (first + k < shape.rank) sums[k] += value * q[(first + k) * shape.cols + j];
    }
  }
  const unsigned begin = gpu::lane() / kSumLanes * kSumLanes;
  for (int k = 0; k < kTogether; ++k) {
    float all = 0;
    for (unsigned l = 0; l < kSumLanes; ++l) all += gpu::shuffle(gpu::kFullWarp, sums[k], begin + l);
    if (own == 0 && row < shape.rows && first + k < shape.rank) p[(first + k) * shape.rows + row] = all;
  }
}

// A thread computes one column for a group of vectors.
//   q[first + k, j] <- sum over i of p[first + k, i] matrix[i, j]      for k in [0, kTogether)
// Neighbouring threads have neighbouring columns, so that a warp reads whole lines of a row of the matrix.
// Sums run down the rows in order.
__global__ void multiply_columns(FactorShape shape, const float* matrix, const float* p, float* q) {
  const int64_t j = power_thread() % shape.cols, first = power_thread() / shape.cols * kTogether;
  if (first >= shape.rank) return;
  float sums[kTogether] = {};
  for (int64_t i = 0; i < shape.rows; ++i) {
    const float value = matrix[i * shape.cols + j];
    for (int k = 0; k < kTogether; ++k) {
      if (first + k < shape.rank) sums[k] += p[(first + k) * shape.rows + i] * value;
    }
  }
  for (int k = 0; k < kTogether; ++k) {
    if (first + k < shape.rank) q[(first + k) * shape.cols + j] = sums[k];
  }
}

// Returns the sum of term(i) over n values, in all threads of the block.
// Only 16 threads add, one for each lane of the processor's sum, and each thread of the block then adds the
// lanes in the same order.  The second barrier keeps the lanes until all have read them.
template <class T, class Term>
__device__ T sum_in_block(T* lanes, int64_t n, const Term& term) {
  if (threadIdx.x < kSumLanes) {
    T sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += kSumLanes) sum += term(i);
    lanes[threadIdx.x] = sum;
  }
  gpu::sync_block();
  T all = 0;
  for (int l = 0; l < kSumLanes; ++l) all += lanes[l];
  gpu::sync_block();
  return all;
}

// Divides the vector by its norm, in doubles.  A vector whose norm is negligible becomes zero.
__device__ void normalise_in_block(double* lanes, int64_t n, float* vector) {
  const double squares = sum_in_block(lanes, n, [vector](int64_t i) {
    const double value = static_cast<double>(vector[i]);
    return value * value;
  });
  const double norm = std::sqrt(squares);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
    vector[i] = norm > kLeastNorm ? static_cast<float>(static_cast<double>(vector[i]) / norm) : 0.0f;
  gpu::sync_block();
}

// Runs in one block, since each vector depends on those before it.
__global__ void orthogonalise_vectors(FactorShape shape, float* p) {
  PS_SHARED_ARRAY(double, square_lanes, kSumLanes);
  PS_SHARED_ARRAY(float, dot_lanes, kSumLanes);
  for (int64_t k = 0; k < shape.rank; ++k) {
    float* const vector = p + k * shape.rows;
    normalise_in_block(square_lanes, shape.rows, vector);
    // The vectors before this one are taken out twice, since rounding leaves some of them in the first
    // time.
    for (int64_t other = 0; other < 2 * k; ++other) {
      const float* const before = p + other % k * shape.rows;
      const float dot =
          sum_in_block(dot_lanes, shape.rows, [before, vector](int64_t i) { return before[i] * vector[i]; });
      for (int64_t i = threadIdx.x; i < shape.rows; i += blockDim.x) vector[i] += -dot * before[i];
      gpu::sync_block();
    }
    normalise_in_block(square_lanes, shape.rows, vector);
  }
}

// The ways to use a value of P^T Q.
struct Divided {
  float divisor;
  float* values;
  __device__ void operator()(int64_t i, float value) const { values[i] = value / divisor; }
};
struct Added {
  float* sums;
  __device__ void operator()(int64_t i, float value) const { sums[i] += value; }
};
struct TakenOut {
  float* sums;
  __device__ void operator()(int64_t i, float value) const {
    const float rest = sums[i] - value;
    sums[i] = (bits_of(rest) & ~kSign) < kInfinity ? rest : 0;
  }
};
struct Kept {
  const float* values;
  float scale;
  float* rest;
  __device__ void operator()(int64_t i, float value) const { rest[i] = scale * (values[i] - value); }
};

// Each thread computes value [i, j] of P^T Q, with the vectors in order, and gives it to `use`.
template <class Use>
__global__ void use_product(FactorsThere factors, Use use) {
  const FactorShape& shape = factors.shape;
  const int64_t at = power_thread(), i = at / shape.cols, j = at % shape.cols;
  if (i >= shape.rows) return;
  float value = 0;
  for (int64_t k = 0; k < shape.rank; ++k)
    value += factors.p[k * shape.rows + i] * factors.q[k * shape.cols + j];
  use(at, value);
}

template <class Use>
void launch_product(gpu::Stream& stream, const FactorsThere& factors, const Use& use) {
  const int64_t values = factors.shape.rows * factors.shape.cols;
  if (values == 0) return;
  gpu::launch(use_product<Use>, power_blocks(values), kPowerThreads, 0, stream, factors, use);
}

__global__ void divide_values(int64_t size, float divisor, float* values) {
  const int64_t i = power_thread();
  if (i < size) values[i] /= divisor;
}

__global__ void add_scaled_values(int64_t size, const float* others, float factor, float* values) {
  const int64_t i = power_thread();
  if (i < size) values[i] += factor * others[i];
}

}  // namespace

void multiply_there(gpu::Stream& stream, const FactorShape& shape, const float* matrix, const float* q,
                    float* p) {
  gpu::launch(multiply_rows, power_blocks(shape.rows * groups_of(shape.rank) * kSumLanes), kPowerThreads, 0,
              stream, shape, matrix, q, p);
}

void orthogonalise_there(gpu::Stream& stream, const FactorShape& shape, float* p) {
  gpu::launch(orthogonalise_vectors, 1, kPowerThreads, 0, stream, shape, p);
}

void multiply_transposed_there(gpu::Stream& stream, const FactorShape& shape, const float* matrix,
                               const float* p, float* q) {
  gpu::launch(multiply_columns, power_blocks(shape.cols * groups_of(shape.rank)), kPowerThreads, 0, stream,
              shape, matrix, p, q);
}

void set_product(gpu::Stream& stream, const FactorsThere& factors, float divisor, float* values) {
  launch_product(stream, factors, Divided{divisor, values});
}

void add_product(gpu::Stream& stream, const FactorsThere& factors, float* sums) {
  launch_product(stream, factors, Added{sums});
}

void subtract_product(gpu::Stream& stream, const FactorsThere& factors, float* sums) {
  launch_product(stream, factors, TakenOut{sums});
}

void keep_rest_there(gpu::Stream& stream, const FactorsThere& factors, const float* values, float scale,
                     float* rest) {
  launch_product(stream, factors, Kept{values, scale, rest});
}

void divide_there(gpu::Stream& stream, int64_t size, float divisor, float* values) {
  if (size > 0)
    gpu::launch(divide_values, power_blocks(size), kPowerThreads, 0, stream, size, divisor, values);
}

void add_scaled_there(gpu::Stream& stream, int64_t size, const float* others, float factor, float* values) {
  if (size == 0) return;
  gpu::launch(add_scaled_values, power_blocks(size), kPowerThreads, 0, stream, size, others, factor, values);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
