#include "chunk/planes.h"

#include <cstring>

#include "base/error.h"

namespace ps {

namespace {

// Numbers are split in blocks of this many, which stay in the first-level cache while their planes are
// gathered one after the other.
constexpr size_t kNumbersAtOnce = 1024;

// Writes byte `plane` of number i to out[plane * count + i].  A block of numbers is read once for each
// plane, while it is in the cache.
template <size_t kWidth>
void split(const char* bytes, size_t count, char* out) {
  for (size_t begin = 0; begin < count; begin += kNumbersAtOnce) {
    const size_t size = count - begin < kNumbersAtOnce ? count - begin : kNumbersAtOnce;
    const char* from = bytes + begin * kWidth;
    for (size_t plane = 0; plane < kWidth; ++plane) {
      char* to = out + plane * count + begin;
      for (size_t i = 0; i < size; ++i) to[i] = from[i * kWidth + plane];
    }
  }
}

// The inverse of split: the inner loop gathers the bytes of one number, whose planes are `count` bytes
// apart.
template <size_t kWidth>
void join(const char* planes, size_t count, char* out) {
  for (size_t begin = 0; begin < count; begin += kNumbersAtOnce) {
    const size_t size = count - begin < kNumbersAtOnce ? count - begin : kNumbersAtOnce;
    const char* from = planes + begin;
    char* to = out + begin * kWidth;
    for (size_t i = 0; i < size; ++i) {
      for (size_t plane = 0; plane < kWidth; ++plane) to[i * kWidth + plane] = from[plane * count + i];
    }
  }
}

}  // namespace

void split_planes(std::string_view bytes, int width, char* out) {
  const size_t count = bytes.size() / static_cast<size_t>(width);
  PS_CHECK(count * static_cast<size_t>(width) == bytes.size());
  if (width == 8) return split<8>(bytes.data(), count, out);
  if (width == 4) return split<4>(bytes.data(), count, out);
  if (width == 2) return split<2>(bytes.data(), count, out);
  PS_CHECK(width == 1);
  if (count > 0) std::memcpy(out, bytes.data(), count);
}

void join_planes(std::string_view planes, int width, char* out) {
  const size_t count = planes.size() / static_cast<size_t>(width);
  PS_CHECK(count * static_cast<size_t>(width) == planes.size());
  if (width == 8) return join<8>(planes.data(), count, out);
  if (width == 4) return join<4>(planes.data(), count, out);
  if (width == 2) return join<2>(planes.data(), count, out);
  PS_CHECK(width == 1);
  if (count > 0) std::memcpy(out, planes.data(), count);
}

}  // namespace ps
