// Sums and products of values.
#include "codec/kernels/lanes.h"
#include "codec/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

// Each lane keeps the largest size of its own sums, so that compilers vectorise the loop; the rest of fewer
// than 16 values goes to lane 0, since a maximum has no order.
uint32_t add(const float* __restrict values, int64_t n, float* __restrict sums) {
  int32_t lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const float sum = sums[i + l] + values[i + l];
      sums[i + l] = sum;
      lanes[l] = larger(lanes[l], size_of(sum));
    }
  }
  for (; i < n; ++i) {
    sums[i] += values[i];
    lanes[0] = larger(lanes[0], size_of(sums[i]));
  }
  return static_cast<uint32_t>(fold(lanes));
}

uint32_t largest_size(const float* values, int64_t n) {
  int32_t lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = larger(lanes[l], size_of(values[i + l]));
  }
  for (; i < n; ++i) lanes[0] = larger(lanes[0], size_of(values[i]));
  return static_cast<uint32_t>(fold(lanes));
}

// Lane l sums the squares of values l, l + 16, …, and the lanes are added in order: the same sum at every
// level of instructions.
double sum_of_squares(const float* values, int64_t n) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const double value = static_cast<double>(values[i + l]);
      lanes[l] += value * value;
    }
  }
  for (int64_t l = 0; i < n; ++i, ++l)
    lanes[l] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sum_lanes(lanes);
}

// A difference that is not finite becomes zero, so that no infinity stays in the residual.
void subtract(const float* __restrict decoded, int64_t n, float* __restrict sums) {
  for (int64_t i = 0; i < n; ++i) {
    const float rest = sums[i] - decoded[i];
    sums[i] = size_of(rest) < static_cast<int32_t>(kInfinity) ? rest : 0;
  }
}

// Products are added in lanes like the squares above, so that levels and devices give the same bits.
float dot(const float* x, const float* y, int64_t n) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += x[i + l] * y[i + l];
  }
  for (int64_t l = 0; i < n; ++i, ++l) lanes[l] += x[i] * y[i];
  return sum_lanes(lanes);
}

void add_scaled(const float* __restrict x, float scale, int64_t n, float* __restrict sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] += scale * x[i];
}

}  // namespace ps::PS_CPU_NAMESPACE
