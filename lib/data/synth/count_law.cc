#include "data/synth/count_law.h"

#include <cmath>
#include <vector>

#include "base/error.h"

namespace ps {

CountLaw::CountLaw(Shape shape, int64_t minimum, int64_t maximum)
    : minimum_(static_cast<uint32_t>(minimum)), width_(static_cast<uint32_t>(maximum - minimum + 1)) {
  PS_CHECK(minimum >= 0 && minimum <= maximum && maximum <= kMaxCount);
  std::vector<double> weights(width_, 1.0);
  if (shape == Shape::kSkewed) {
    // The weight is the density of Beta(8, 23) at the middle of the count's part of [0, 1], so that most
    // counts are near a quarter of the range.
    for (uint32_t i = 0; i < width_; ++i) {
      double x = (i + 0.5) / width_;
      weights[i] = std::pow(x, 7) * std::pow(1 - x, 22);
    }
  }
  table_ = AliasTable(weights);
}

}  // namespace ps
