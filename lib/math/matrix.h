// Views of row-major matrices.  Used by layers, costs, evaluators and kernels.
#ifndef PS_MATH_MATRIX_H_
#define PS_MATH_MATRIX_H_

#include <cstdint>
#include <span>

namespace ps {

// rows x cols values, one row after the other.  Owns nothing; `data` may be null, for "not wanted".
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, cols = 0;

  T* row(int64_t i) const { return data + i * cols; }
  int64_t size() const { return rows * cols; }
  explicit operator bool() const { return data != nullptr; }
  operator Matrix<const T>() const { return {data, rows, cols}; }
};

}  // namespace ps

#endif  // PS_MATH_MATRIX_H_
