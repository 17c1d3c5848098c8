#include "math/softmax_over_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/gemm.h"

namespace ps {

// Classes are processed in blocks, whose rows are first copied side by side.  An example's sum of
// exponentials is relative to its largest score so far: when a larger score comes, the sum is scaled down, so
// that it never overflows.
template <class T>
void SoftmaxOverRows<T>::costs(Device& device, Matrix<const T> input, std::span<const T* const> weight,
                               std::span<const T* const> bias, std::span<const float> labels,
                               std::span<T> costs) {
  constexpr size_t kClasses = 1024;  // of 64 weights: 256 KiB, which stays in the cache
  states_.assign(labels.size(), {-std::numeric_limits<double>::infinity(), 0, 0});
  for (size_t first = 0; first < weight.size(); first += kClasses) {
    const size_t count = std::min(kClasses, weight.size() - first);
    const int64_t classes = static_cast<int64_t>(count);
    gather(device, weight.subspan(first, count), input.cols);
    score(device, input, bias.empty() ? bias : bias.subspan(first, count), classes);
    take_in(device, labels, static_cast<int64_t>(first), classes);
  }
  for (size_t b = 0; b < labels.size(); ++b) {
    costs[b] = static_cast<T>(std::log(states_[b].sum) + (states_[b].largest - states_[b].label));
  }
}

template <class T>
void SoftmaxOverRows<T>::gather(Device& device, std::span<const T* const> weight, int64_t cols) {
  const int64_t classes = static_cast<int64_t>(weight.size());
  rows_.resize(weight.size() * static_cast<size_t>(cols));
  device.for_each(classes, block_items(cols), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      std::copy_n(weight[static_cast<size_t>(c)], cols, &rows_[static_cast<size_t>(c * cols)]);
  });
}

template <class T>
void SoftmaxOverRows<T>::score(Device& device, Matrix<const T> input, std::span<const T* const> bias,
                               int64_t classes) {
  scores_.assign(static_cast<size_t>(input.rows * classes), 0);
  Matrix<T> scores{scores_.data(), input.rows, classes};
  for (int64_t b = 0; b < input.rows && !bias.empty(); ++b) {
    for (int64_t c = 0; c < classes; ++c) scores.row(b)[c] = *bias[static_cast<size_t>(c)];
  }
  add_product_transposed_right(device, input, Matrix<const T>{rows_.data(), classes, input.cols}, scores);
}

template <class T>
void SoftmaxOverRows<T>::take_in(Device& device, std::span<const float> labels, int64_t first,
                                 int64_t classes) {
  constexpr int64_t kExpOperations = 16;  // an exponential takes as long as so many multiplications
  const int64_t examples = static_cast<int64_t>(labels.size());
  device.for_each(examples, block_items(classes * kExpOperations), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      State& state = states_[static_cast<size_t>(b)];
      const T* scores = scores_.data() + b * classes;
      const int64_t label = static_cast<int64_t>(labels[static_cast<size_t>(b)]) - first;
      if (label >= 0 && label < classes) state.label = static_cast<double>(scores[label]);
      const double largest =
          std::max(state.largest, static_cast<double>(*std::max_element(scores, scores + classes)));
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        sum += static_cast<double>(std::exp(static_cast<T>(static_cast<double>(scores[c]) - largest)));
      }
      state.sum = state.sum * std::exp(state.largest - largest) + sum;
      state.largest = largest;
    }
  });
}

#define PS_INSTANTIATE(T) template class SoftmaxOverRows<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
