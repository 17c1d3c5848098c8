#include "math/softmax_over_rows.h"

#include <algorithm>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/gemm.h"

namespace ps {

// Classes are processed in blocks, whose rows are first copied side by side.  An example's sum of
// exponentials is relative to its largest score so far: when a larger score comes, the sum is scaled down, so
// that it never overflows.
template <class T>
void SoftmaxOverRows<T>::costs(Device& device, Matrix<const T> input, int64_t classes,
                               const ClassRows<T>& weight, const ClassRows<T>& bias, const float* labels,
                               T* costs) {
  constexpr int64_t kClasses = 1024;      // of 64 weights: 256 KiB, which stays in the cache
  constexpr int64_t kExpOperations = 16;  // an exponential takes as long as so many multiplications
  const float* const own = mirror(device, labels, input.rows);
  const int64_t most = std::min(kClasses, classes);
  sums_.resize(device, input.rows);
  rows_.resize(device, most * input.cols);
  scores_.resize(device, input.rows * most);
  for (int64_t first = 0; first < classes; first += kClasses) {
    const int64_t count = std::min(kClasses, classes - first);
    const Matrix<T> rows{rows_.data(), count, input.cols}, scores{scores_.data(), input.rows, count};
    gather(device, weight, first, rows);
    start_scores(device, bias, first, scores);
    add_product_transposed_right<T>(device, input, rows, scores);
    for_items(device, input.rows, count * kExpOperations, ClassSumItems<T>{scores, own, first, sums_.data()});
  }
  for_items(device, input.rows, kExpOperations, ClassCostItems<T>{sums_.data(), costs});
}

// rows [c, D] <- the rows of the classes from `first` on.
template <class T>
void SoftmaxOverRows<T>::gather(Device& device, const ClassRows<T>& weight, int64_t first, Matrix<T> rows) {
  if (run_there(device, rows.size(), ClassRowItems<T>{weight, first, rows})) return;
  for_items(device, rows.rows, rows.cols,
            [=](int64_t c) { std::copy_n(weight.row(first + c), rows.cols, rows.row(c)); });
}

// scores [B, c] <- the biases of the classes from `first` on, to which the product is added.
template <class T>
void SoftmaxOverRows<T>::start_scores(Device& device, const ClassRows<T>& bias, int64_t first,
                                      Matrix<T> scores) {
  if (run_there(device, scores.size(), ClassBiasItems<T>{bias, first, scores})) return;
  for_items(device, scores.rows, scores.cols, [=](int64_t b) {
    for (int64_t c = 0; c < scores.cols; ++c)
      scores.row(b)[c] = bias.rows == nullptr ? T(0) : *bias.row(first + c);
  });
}

#define PS_INSTANTIATE(T) template class SoftmaxOverRows<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
