// OrderFreeSums: sums of floats that have the same bits in whatever order they are added.  Used by shards for
// gradients in the bytes of codecs that ask for such sums.
//
// Let 2^E be the power of two of the largest addend of a sum, E = floor(log2 |largest|).  An addend is counted in units of
// 2^(E - 38), as an integer of 64 bits: exactly, if its last bit is worth a unit or more, as that of an addend of 16 bits is
// unless it is 2^22 times smaller than the largest; else it is rounded to a unit.  The sum is rounded once, to a float.
#ifndef PS_MATH_ORDER_FREE_SUMS_H_
#define PS_MATH_ORDER_FREE_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ps {

// The caller measures all addends first, and adds them afterwards; both may happen in any order.  A sum has up to
// 2^23 addends.  One thread at a time.
class OrderFreeSums {
 public:
  // Begins n sums, which are 0 without addends.
  void begin(size_t n);

  // Measures, and adds, values of sums [first, first + values.size()).  Values must be finite.
  void measure(size_t first, std::span<const float> values);
  void add(size_t first, std::span<const float> values);

  // Writes sums [n].  A sum beyond the range of a float is infinite.
  void finish(std::span<float> sums) const;

 private:
  std::vector<float> largest_;     // by sum: the size of its largest addend
  std::vector<int64_t> integers_;  // by sum: its value, in units
};

}  // namespace ps

#endif  // PS_MATH_ORDER_FREE_SUMS_H_
