#include "math/initializer.h"

#include <algorithm>

#include "base/random.h"

namespace ps {

// Counter (row, j) of the generator gives columns 4j … 4j + 3.
template <class Four>
static void fill_by_fours(uint64_t seed, uint64_t row, std::span<float> weights, Four&& four) {
  for (size_t column = 0; column < weights.size(); column += 4) {
    float values[4];
    four(philox(seed, row, column / 4), values);
    std::copy_n(values, std::min<size_t>(4, weights.size() - column), &weights[column]);
  }
}

void Initializer::fill(uint64_t row, std::span<float> weights) const {
  float center = static_cast<float>(mean), scale = static_cast<float>(deviation);
  switch (distribution) {
    case Distribution::kZero:
      std::fill(weights.begin(), weights.end(), 0.0f);
      break;
    case Distribution::kConstant:
      std::fill(weights.begin(), weights.end(), center);
      break;
    case Distribution::kNormal:
      fill_by_fours(seed, row, weights, [=](const auto& bits, float* out) {
        NormalPair first = normal_pair(bits[0], bits[1]), second = normal_pair(bits[2], bits[3]);
        out[0] = center + scale * first.first;
        out[1] = center + scale * first.second;
        out[2] = center + scale * second.first;
        out[3] = center + scale * second.second;
      });
      break;
    case Distribution::kUniform:
      fill_by_fours(seed, row, weights, [=](const auto& bits, float* out) {
        for (size_t i = 0; i < 4; ++i) out[i] = center + scale * (2 * unit_float(bits[i]) - 1);
      });
      break;
  }
}

}  // namespace ps
