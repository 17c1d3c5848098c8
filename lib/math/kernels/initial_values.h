// Initial weights, four at a time: the random numbers of a counter, and the distributions that weights
// follow.  Used by the loops of initial.cc, and by tables in the memory of a device.
//
// Always inlined, like all that is compiled for several levels of instruction sets; constexpr, since nvcc
// compiles such functions for a device too.
#ifndef PS_MATH_KERNELS_INITIAL_VALUES_H_
#define PS_MATH_KERNELS_INITIAL_VALUES_H_

#include <cstdint>

namespace ps::initial_values {

// The numbers of kCounters counters from `first` on, as philox gives them one by one: bits[n][i] is number n
// of counter first + i.
template <int kCounters>
[[gnu::always_inline]] constexpr void draw(uint64_t seed, uint64_t row, uint64_t first,
                                           uint32_t (&bits)[4][kCounters]) {
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (uint64_t i = 0; i < kCounters; ++i) {
    bits[0][i] = static_cast<uint32_t>(first + i);
    bits[1][i] = static_cast<uint32_t>((first + i) >> 32);
    bits[2][i] = static_cast<uint32_t>(row);
    bits[3][i] = static_cast<uint32_t>(row >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kCounters; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53} * bits[0][i], p1 = uint64_t{0xCD9E8D57} * bits[2][i];
      bits[0][i] = static_cast<uint32_t>(p1 >> 32) ^ bits[1][i] ^ k0;
      bits[1][i] = static_cast<uint32_t>(p1);
      bits[2][i] = static_cast<uint32_t>(p0 >> 32) ^ bits[3][i] ^ k1;
      bits[3][i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

// In [0, 1): 24 bits.  (Through a signed number, which every level converts in one instruction.)
[[gnu::always_inline]] constexpr float unit(uint32_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits >> 8)) * 0x1p-24f;
}

// The natural logarithm of a normal x > 0, to some 2 units in the last place: x = 2^k m, m in [sqrt(1/2),
// sqrt(2)), log m = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + …), s = (m - 1) / (m + 1), |s| < 0.172.
[[gnu::always_inline]] constexpr float logarithm(float x) {
  constexpr uint32_t kOne = 0x3f800000, kRootOfHalf = 0x3f3504f3;  // as bits
  const uint32_t shifted = __builtin_bit_cast(uint32_t, x) + (kOne - kRootOfHalf);
  const float k = static_cast<float>(static_cast<int32_t>(shifted >> 23) - 127);
  const float f = __builtin_bit_cast(float, (shifted & 0x7fffff) + kRootOfHalf) - 1;
  const float s = f / (2 + f), z = s * s;
  const float rest = z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9))));
  return k * 0.693147181f + (2 * s + 2 * s * rest);
}

// Cosine and sine of 2 pi u, u in [0, 1):  2 pi u = (q + r) pi / 2 with a whole q and |r| <= 1/2, and
// Taylor's series of r pi / 2.
struct Direction {
  float cosine, sine;
};
[[gnu::always_inline]] constexpr Direction direction(float u) {
  const int32_t q = static_cast<int32_t>(4 * u + 0.5f);
  const float t = (4 * u - static_cast<float>(q)) * 1.57079633f, z = t * t;
  const float sine = t * (1 - z * (1.0f / 6 - z * (1.0f / 120 - z * (1.0f / 5040 - z * (1.0f / 362880)))));
  const float cosine =
      1 - z * (1.0f / 2 - z * (1.0f / 24 - z * (1.0f / 720 - z * (1.0f / 40320 - z * (1.0f / 3628800)))));
  const float across = (q & 1) != 0 ? sine : cosine, up = (q & 1) != 0 ? cosine : sine;
  return {((q + 1) & 2) != 0 ? -across : across, (q & 2) != 0 ? -up : up};
}

// A template, since clang checks that other constexpr functions can be constant.
template <class T>
[[gnu::always_inline]] constexpr T square_root(T x) {
  return __builtin_sqrtf(x);
}

// Two normal numbers from two uniform ones, Box and Muller, 1958.  1 - u is in (0, 1], so the logarithm is
// finite.
template <class T>
[[gnu::always_inline]] constexpr Direction normal_numbers(T bits0, T bits1) {
  const float radius = square_root(-2 * logarithm(1 - unit(bits0)));
  const Direction way = direction(unit(bits1));
  return {radius * way.cosine, radius * way.sine};
}

struct NormalLaw {
  template <class T>
  [[gnu::always_inline]] constexpr void operator()(const T bits[4], float values[4]) const {
    const Direction first = normal_numbers(bits[0], bits[1]), second = normal_numbers(bits[2], bits[3]);
    values[0] = first.cosine;
    values[1] = first.sine;
    values[2] = second.cosine;
    values[3] = second.sine;
  }
};

struct UniformLaw {
  [[gnu::always_inline]] constexpr void operator()(const uint32_t bits[4], float values[4]) const {
    for (int n = 0; n < 4; ++n) values[n] = 2 * unit(bits[n]) - 1;
  }
};

}  // namespace ps::initial_values

#endif  // PS_MATH_KERNELS_INITIAL_VALUES_H_
