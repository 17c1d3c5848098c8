#include "math/kernels/initial.h"

#include "math/kernels/initial_values.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

// Computes the columns of up to kCounters counters, from `first` on.  A counter gives four random words,
// and so four weights: bits[j][i] is word j of counter i, so that all counters run side by side in vectors.
// The row may end within a counter.
template <int kCounters, class Law>
[[gnu::always_inline]] inline void fill_some(const Law& law, uint64_t seed, uint64_t row, uint64_t first,
                                             float mean, float deviation, float* weights, int64_t width) {
  uint32_t bits[4][kCounters];
  float values[4 * kCounters];
  initial_values::draw(seed, row, first, bits);
  for (int i = 0; i < kCounters; ++i) {
    const uint32_t own[4] = {bits[0][i], bits[1][i], bits[2][i], bits[3][i]};
    float four[4];
    law(own, four);
    for (int n = 0; n < 4; ++n) values[4 * i + n] = mean + deviation * four[n];
  }
  const int64_t count = width < 4 * kCounters ? width : 4 * kCounters;
  __builtin_memcpy(weights, values, static_cast<uint64_t>(count) * sizeof(float));
}

// 16 counters at once fill the widest registers; the end of a row takes as few counters as it needs.
template <class Law>
[[gnu::always_inline]] inline void fill(const Law& law, uint64_t seed, uint64_t row, float mean,
                                        float deviation, float* weights, int64_t width) {
  int64_t done = 0;
  for (; width - done > 16; done += 64) {
    fill_some<16>(law, seed, row, static_cast<uint64_t>(done / 4), mean, deviation, weights + done,
                  width - done);
  }
  const uint64_t next = static_cast<uint64_t>(done / 4);
  if (width - done > 8) {
    fill_some<4>(law, seed, row, next, mean, deviation, weights + done, width - done);
  } else if (width - done > 4) {
    fill_some<2>(law, seed, row, next, mean, deviation, weights + done, width - done);
  } else if (width > done) {
    fill_some<1>(law, seed, row, next, mean, deviation, weights + done, width - done);
  }
}

void fill_normal(uint64_t seed, uint64_t row, float mean, float deviation, float* weights, int64_t width) {
  fill(initial_values::NormalLaw(), seed, row, mean, deviation, weights, width);
}

void fill_uniform(uint64_t seed, uint64_t row, float mean, float deviation, float* weights, int64_t width) {
  fill(initial_values::UniformLaw(), seed, row, mean, deviation, weights, width);
}

}  // namespace

extern const InitialKernels kInitialKernels = {fill_normal, fill_uniform};

}  // namespace ps::PS_CPU_NAMESPACE
