// The sum over a plane of an image, in an order that all kernels of images share.
#ifndef PS_MATH_PLANE_SUM_H_
#define PS_MATH_PLANE_SUM_H_

#include <cstdint>

namespace ps {

// Returns the sum of value(i) for i in [0, count): eight sums, each in order, added in order.  In a single
// sum each addition would wait for the one before.
template <class T, class Value>
constexpr T plane_sum(int64_t count, const Value& value) {
  constexpr int64_t kSums = 8;
  T sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t s = 0; s < kSums; ++s) sums[s] += value(i + s);
  }
  for (; i < count; ++i) sums[i % kSums] += value(i);
  T sum = sums[0];
  for (int64_t s = 1; s < kSums; ++s) sum += sums[s];
  return sum;
}

}  // namespace ps

#endif  // PS_MATH_PLANE_SUM_H_
