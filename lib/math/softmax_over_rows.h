// The exact cost of a softmax over all classes, from rows that may lie anywhere.  Used by the
// layer nce, in tests.
#ifndef PS_MATH_SOFTMAX_OVER_ROWS_H_
#define PS_MATH_SOFTMAX_OVER_ROWS_H_

#include <cstdint>

#include "math/device.h"
#include "math/device_buffer.h"
#include "math/items/sampled_items.h"
#include "math/matrix.h"

namespace ps {

// Reuses its scratch memory; one owner thread.  T is float or double.
template <class T>
class SoftmaxOverRows {
 public:
  // costs[b] <- log(sum over c of e^s(b, c)) - s(b, labels[b]), where s(b, c) = weight[c] . input[b] +
  // bias[c]
  //   input [B, D]; weight: rows of D weights of C classes; bias: rows of one value, or null; labels [B], classes in
  //   [0, C), of the host
  void costs(Device& device, Matrix<const T> input, int64_t classes, const ClassRows<T>& weight,
             const ClassRows<T>& bias, const float* labels, T* costs);

 private:
  void gather(Device& device, const ClassRows<T>& weight, int64_t first, Matrix<T> rows);
  void start_scores(Device& device, const ClassRows<T>& bias, int64_t first, Matrix<T> scores);

  DeviceBuffer<ClassSums> sums_;   // [B]
  DeviceBuffer<T> rows_, scores_;  // of one block of classes: [c, D], [B, c]
};

extern template class SoftmaxOverRows<float>;
extern template class SoftmaxOverRows<double>;

}  // namespace ps

#endif  // PS_MATH_SOFTMAX_OVER_ROWS_H_
