// CountLaw: draws the number of ids of a synthetic row.  Used by the generators of sparse rows and of the
// language.
#ifndef PS_DATA_SYNTH_COUNT_LAW_H_
#define PS_DATA_SYNTH_COUNT_LAW_H_

#include <cstdint>

#include "data/synth/alias_table.h"
#include "data/synth/example_random.h"

namespace ps {

// Counts in [minimum, maximum].  Constant after construction.
class CountLaw {
 public:
  enum class Shape {
    kUniform,
    // Skewed to the left of the middle: Beta(8, 23), stretched.  For 11 to 360 it has mean 100.8 and
    // deviation 27; the rows of PaddlePaddle's sparse_binary demo have mean 100.8 and deviation 25.
    kSkewed,
  };

  // 0 <= minimum <= maximum <= kMaxCount.
  CountLaw(Shape shape, int64_t minimum, int64_t maximum);

  uint32_t draw(ExampleRandom& random) const {
    return width_ == 1 ? minimum_ : minimum_ + table_.draw(random.next64());
  }

  static constexpr int64_t kMaxCount = 1'000'000;  // ids in a row; bounds the memory of a block

 private:
  uint32_t minimum_, width_;
  AliasTable table_;
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_COUNT_LAW_H_
