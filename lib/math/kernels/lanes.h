// The values of a narrow row in registers.  If the width is known only at run time, the loop over it costs
// more than the work on a row of 1 to 32 values; with a width known at compile time the compiler writes no
// loop.
#ifndef PS_MATH_KERNELS_LANES_H_
#define PS_MATH_KERNELS_LANES_H_

#include <cstdint>

namespace ps::PS_CPU_NAMESPACE {

// kWidth values, a power of two: as many registers as they need, or part of one.
template <class T, int64_t kWidth>
struct Lanes {
  // Bytes of the level's widest register, which the compiler's greatest alignment tells.
  static constexpr int64_t kRegister = __BIGGEST_ALIGNMENT__;
  static constexpr int64_t kSize = int64_t{sizeof(T)};
  static constexpr int64_t kBytes = kWidth * kSize < kRegister ? kWidth * kSize : kRegister;
  static constexpr int64_t kParts = kWidth * kSize / kBytes, kPerPart = kBytes / kSize;
  typedef T Part __attribute__((vector_size(kBytes)));
  typedef T Unaligned __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));

  Part parts[kParts];

  [[gnu::always_inline]] void load(const T* from) {
    for (int64_t i = 0; i < kParts; ++i) parts[i] = *reinterpret_cast<const Unaligned*>(from + i * kPerPart);
  }
  [[gnu::always_inline]] void store(T* to) const {
    for (int64_t i = 0; i < kParts; ++i) *reinterpret_cast<Unaligned*>(to + i * kPerPart) = parts[i];
  }
  [[gnu::always_inline]] void add(const Lanes& other) {
    for (int64_t i = 0; i < kParts; ++i) parts[i] += other.parts[i];
  }
  [[gnu::always_inline]] void subtract(const Lanes& other) {
    for (int64_t i = 0; i < kParts; ++i) parts[i] -= other.parts[i];
  }
  [[gnu::always_inline]] void multiply(const Lanes& other) {
    for (int64_t i = 0; i < kParts; ++i) parts[i] *= other.parts[i];
  }
  [[gnu::always_inline]] void scale(T factor) {
    for (int64_t i = 0; i < kParts; ++i) parts[i] *= factor;
  }
};

template <class T>
struct Lanes<T, 1> {
  T value;

  [[gnu::always_inline]] void load(const T* from) { value = *from; }
  [[gnu::always_inline]] void store(T* to) const { *to = value; }
  [[gnu::always_inline]] void add(const Lanes& other) { value += other.value; }
  [[gnu::always_inline]] void subtract(const Lanes& other) { value -= other.value; }
  [[gnu::always_inline]] void multiply(const Lanes& other) { value *= other.value; }
  [[gnu::always_inline]] void scale(T factor) { value *= factor; }
};

// A width for with_width's body; kWidth 0 stands for a width that is known at run time only.
template <int64_t kWidth>
struct Width {
  static constexpr int64_t value = kWidth;
};

// Calls body(Width<width>()), or body(Width<0>()) for widths that have no code of their own.
template <class Body>
[[gnu::always_inline]] inline void with_width(int64_t width, const Body& body) {
  switch (width) {
    case 1:
      return body(Width<1>());
    case 2:
      return body(Width<2>());
    case 4:
      return body(Width<4>());
    case 8:
      return body(Width<8>());
    case 16:
      return body(Width<16>());
    case 32:
      return body(Width<32>());
    default:
      return body(Width<0>());
  }
}

// Prefetches rows.  Rows lie anywhere in memory: the processor cannot guess where the next one begins, but
// loads the rest of a row ahead by itself.  Rows up to this many ahead are requested.
inline constexpr int64_t kRowsAhead = 64;

template <class T>
[[gnu::always_inline]] inline void prefetch_row(const T* row, int64_t width) {
  constexpr int64_t kLine = 64 / int64_t{sizeof(T)}, kMaxLines = 4;
  for (int64_t d = 0; d < width && d < kMaxLines * kLine; d += kLine) __builtin_prefetch(row + d);
}

}  // namespace ps::PS_CPU_NAMESPACE

#endif  // PS_MATH_KERNELS_LANES_H_
