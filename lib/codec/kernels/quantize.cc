// Kernels that encode values in few bits, and decode them.
#include "codec/kernels/lanes.h"
#include "codec/kernels/level.h"
#include "codec/kernels/sign_rules.h"
#include "codec/kernels/whole_rules.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

template <class Whole>
[[gnu::always_inline]] inline void encode_lattice(const float* __restrict values, int64_t n, Lattice lattice,
                                                  Whole* __restrict out) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Whole>(lattice_point(values[i], lattice));
}

template <class Whole>
[[gnu::always_inline]] inline void decode_lattice(const Whole* __restrict in, int64_t n, float scale,
                                                  float* __restrict values) {
  for (int64_t i = 0; i < n; ++i) values[i] = scale * static_cast<float>(in[i]);
}

struct SignSums {
  float positive[kLanes], negative[kLanes];
  int32_t num_negative[kLanes];
};

// Adds the signs of 16 values as bit `bit` of the 16 words.
[[gnu::always_inline]] inline void add_signs(const float* values, int64_t bit, SignSums& sums,
                                             uint32_t* words) {
  for (int64_t l = 0; l < kLanes; ++l) {
    const float value = values[l];
    const uint32_t negative = sign_of(value);
    words[l] |= negative << bit;
    sums.num_negative[l] += static_cast<int32_t>(negative);
    sums.positive[l] += negative != 0 ? 0 : value;
    sums.negative[l] += negative != 0 ? value : 0;
  }
}

}  // namespace

// The four random words of the block are mixed with the index of each value, which takes a few instructions
// instead of a call of philox.
void round_bytes(const float* __restrict values, int64_t n, float scale, const uint32_t (&random)[4],
                 signed char* __restrict out) {
  const EvenWords words = EvenWords::of(random);
  for (int64_t i = 0; i < n; ++i) out[i] = even_byte(values[i], static_cast<uint32_t>(i), scale, words);
}

void scale_bytes(const signed char* in, int64_t n, float scale, float* values) {
  decode_lattice(in, n, scale, values);
}

// The signs of a group of 512 values are 16 words: value i is bit i / 16 of word i mod 16, so that 16
// values fill one bit of all words, without any exchange between lanes.  The sums of lanes are added in
// order at the end.
SignBlock encode_signs(const float* values, int64_t n, uint32_t* words) {
  SignSums sums{};
  for (int64_t begin = 0; begin < n; begin += kSignGroup, words += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) words[l] = 0;
    const int64_t size = n - begin < kSignGroup ? n - begin : kSignGroup, whole = size / kLanes;
    for (int64_t bit = 0; bit < whole; ++bit) add_signs(values + begin + bit * kLanes, bit, sums, words);
    if (whole * kLanes == size) continue;
    float last[kLanes] = {};  // zeros change no sum
    __builtin_memcpy(last, values + begin + whole * kLanes,
                     static_cast<uint64_t>(size - whole * kLanes) * sizeof(float));
    add_signs(last, whole, sums, words);
  }
  const int64_t num_negative = sum_lanes(sums.num_negative);
  return {mean_of(sum_lanes(sums.positive), n - num_negative),
          mean_of(sum_lanes(sums.negative), num_negative)};
}

// The last values, fewer than 16, are written one by one, since `values` ends with them.
void decode_signs(const uint32_t* words, SignBlock block, int64_t n, float* values) {
  for (int64_t begin = 0; begin < n; begin += kSignGroup, words += kLanes) {
    const int64_t size = n - begin < kSignGroup ? n - begin : kSignGroup, whole = size / kLanes;
    for (int64_t bit = 0; bit < whole; ++bit) {
      float* to = values + begin + bit * kLanes;
      for (int64_t l = 0; l < kLanes; ++l)
        to[l] = (words[l] >> bit & 1) != 0 ? block.negative : block.positive;
    }
    for (int64_t i = whole * kLanes; i < size; ++i) {
      values[begin + i] = (words[i % kLanes] >> whole & 1) != 0 ? block.negative : block.positive;
    }
  }
}

void encode_lattice8(const float* values, int64_t n, Lattice lattice, signed char* out) {
  encode_lattice(values, n, lattice, out);
}

void encode_lattice16(const float* values, int64_t n, Lattice lattice, int16_t* out) {
  encode_lattice(values, n, lattice, out);
}

void decode_lattice16(const int16_t* in, int64_t n, float scale, float* values) {
  decode_lattice(in, n, scale, values);
}

}  // namespace ps::PS_CPU_NAMESPACE
