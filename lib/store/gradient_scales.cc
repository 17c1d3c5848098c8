#include "store/gradient_scales.h"

#include "math/exact_squares.h"

namespace ps {

// Returns the sum of the squares of the values, rounded once, so that it does not depend on how threads share
// the work.
static double square_sum(const float* values, int64_t count, Device& device) {
  constexpr int64_t kBlock = 16384;
  std::vector<ExactSquares> sums(static_cast<size_t>((count + kBlock - 1) / kBlock));
  device.for_each(count, kBlock, [&](int64_t begin, int64_t end) {
    sums[static_cast<size_t>(begin / kBlock)].add(values + begin, end - begin);
  });
  ExactSquares total;
  for (const ExactSquares& sum : sums) total.add(sum);
  return total.value();
}

// Computes the squared norm of each gradient whose clipping needs it, in squares[p], and from them the
// factor of each gradient.  complete_squares_ adds the squares of columns that other trainers have, and
// clip_with_others_ gets the factors from a store that has the other gradients.
std::vector<float> GradientScales::of_step(std::span<const KeyPlan> plans,
                                           std::span<const ParameterView<float>> views, float scale) const {
  std::vector<double> squares(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!clipping_.needs(p) || (views[p].gradient == nullptr && views[p].row_gradients == nullptr)) continue;
    const ParameterSpec& spec = specs_[p];
    bool by_ids = spec.kind == ParameterKind::kRows;
    int64_t rows = by_ids ? static_cast<int64_t>(plans[p].keys.size()) : spec.rows;
    squares[p] = square_sum(by_ids ? views[p].row_gradients : views[p].gradient, rows * spec.cols, device_);
  }
  if (complete_squares_ && clipping_.any()) complete_squares_(squares);
  return clip_with_others_ ? clip_with_others_(squares, scale) : clipping_.scales(squares, scale);
}

}  // namespace ps
