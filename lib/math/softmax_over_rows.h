// The exact cost of a softmax over all classes, from rows that may lie anywhere.  Used by the
// layer nce, in tests.
#ifndef PS_MATH_SOFTMAX_OVER_ROWS_H_
#define PS_MATH_SOFTMAX_OVER_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// Reuses its scratch memory; one owner thread.  T is float or double.
template <class T>
class SoftmaxOverRows {
 public:
  // costs[b] <- log(sum over c of e^s(b, c)) - s(b, labels[b]), where s(b, c) = weight[c] . input[b] +
  // bias[c]
  //   input [B, D]; weight [C] pointers to D weights; bias [C] pointers, or empty; labels [B], classes in [0,
  //   C)
  void costs(Device& device, Matrix<const T> input, std::span<const T* const> weight,
             std::span<const T* const> bias, std::span<const float> labels, std::span<T> costs);

 private:
  void gather(Device& device, std::span<const T* const> weight, int64_t cols);
  void score(Device& device, Matrix<const T> input, std::span<const T* const> bias, int64_t classes);
  void take_in(Device& device, std::span<const float> labels, int64_t first, int64_t classes);

  // The state of an example over the classes so far: the largest score, the sum of e^(s - largest), the
  // label's score.
  struct State {
    double largest, sum, label;
  };
  std::vector<State> states_;     // [B]
  std::vector<T> rows_, scores_;  // of one block of classes: [c, D], [B, c]
};

extern template class SoftmaxOverRows<float>;
extern template class SoftmaxOverRows<double>;

}  // namespace ps

#endif  // PS_MATH_SOFTMAX_OVER_ROWS_H_
