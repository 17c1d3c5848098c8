// Views of row-major matrices.  Used by layers, costs, evaluators and kernels.
#ifndef PS_MATH_MATRIX_H_
#define PS_MATH_MATRIX_H_

#include <cstdint>
#include <span>
#include <type_traits>

namespace ps {

// rows x cols values, one row after the other.  Owns nothing; `data` may be null, for "not wanted".
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, cols = 0;

  constexpr T* row(int64_t i) const { return data + i * cols; }
  constexpr int64_t size() const { return rows * cols; }
  explicit operator bool() const { return data != nullptr; }
  operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, cols}; }
};

// Some columns of a row-major matrix: row i begins at data + i * stride and has `width` values.
template <class T>
struct Columns {
  T* data;
  int64_t stride, width;

  constexpr T* row(int64_t i) const { return data + i * stride; }
  operator Columns<const T>() const requires(!std::is_const_v<T>) { return {data, stride, width}; }
};

// Columns [begin, begin + width) of m.
template <class T>
Columns<T> columns(Matrix<T> m, int64_t begin, int64_t width) {
  return {m.rows > 0 ? m.data + begin : nullptr, m.cols, width};
}

template <class T>
Columns<T> columns(Matrix<T> m) {
  return {m.data, m.cols, m.cols};
}

}  // namespace ps

#endif  // PS_MATH_MATRIX_H_
