// add_in_order: sums many values in one item, for devices.  A thread of a GPU waits for memory some hundred
// times as long as for an addition, so it reads kAhead values at once, and adds them afterwards.
#ifndef PS_MATH_ITEMS_ADD_IN_ORDER_H_
#define PS_MATH_ITEMS_ADD_IN_ORDER_H_

#include <cstdint>

namespace ps {

// Returns sum + read(begin) + … + read(end - 1), added in this order.
template <int kAhead = 16, class T, class Read>
constexpr T add_in_order(T sum, int64_t begin, int64_t end, const Read& read) {
  int64_t i = begin;
  for (; i + kAhead <= end; i += kAhead) {
    T values[kAhead] = {};
    for (int n = 0; n < kAhead; ++n) values[n] = read(i + n);
    for (int n = 0; n < kAhead; ++n) sum += values[n];
  }
  for (; i < end; ++i) sum += read(i);
  return sum;
}

}  // namespace ps

#endif  // PS_MATH_ITEMS_ADD_IN_ORDER_H_
