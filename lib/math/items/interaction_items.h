// The items of the kernels of math/interaction_kernels.h: an example, or a value.  The processor and devices with memory
// of their own both compile them (math/device_kernels.h).
//
// Shapes as there: B examples, D values a vector, F fields.
#ifndef PS_MATH_ITEMS_INTERACTION_ITEMS_H_
#define PS_MATH_ITEMS_INTERACTION_ITEMS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "math/matrix.h"

namespace ps {

inline constexpr double kSmallestSquare = 1e-12;  // keeps roots and quotients differentiable at 0

// Vectors [B, D] of which products are summed.
template <class T>
struct DotInputs {
  static constexpr int64_t kMost = 3;

  const T* inputs[kMost];
  int64_t count, cols;

  // Returns the product of all inputs at one position, without input number `left_out`.
  constexpr T product_at(int64_t position, int64_t left_out) const {
    T product = 1;
    for (int64_t i = 0; i < kMost; ++i) {
      if (i < count && i != left_out) product *= inputs[i][position];
    }
    return product;
  }
};

// Item b is an example.
template <class T>
struct DotItems {
  DotInputs<T> of;
  T* out;

  constexpr void operator()(int64_t b) const {
    T sum = 0;
    for (int64_t p = b * of.cols; p < (b + 1) * of.cols; ++p) sum += of.product_at(p, of.count);
    out[b] = sum;
  }
};

// Item p is a value of the gradient of input `left_out`.
template <class T>
struct DotGradientItems {
  DotInputs<T> of;
  int64_t left_out;
  const T* out_gradient;
  T* gradient;

  constexpr void operator()(int64_t p) const { add(p / of.cols, p); }

  // The same, where the example is known.
  constexpr void add(int64_t b, int64_t p) const {
    gradient[p] += out_gradient[b] * of.product_at(p, left_out);
  }
};

template <class T>
constexpr T unit_norm(const T* x, int64_t size) {
  T sum = static_cast<T>(kSmallestSquare);
  for (int64_t d = 0; d < size; ++d) sum += x[d] * x[d];
  return std::sqrt(sum);
}

// In these, item b is an example.
template <class T>
struct UnitItems {
  Matrix<const T> x;
  T* out;

  constexpr void operator()(int64_t b) const {
    const T* in = x.data + b * x.cols;
    const T norm = unit_norm(in, x.cols);
    for (int64_t d = 0; d < x.cols; ++d) out[b * x.cols + d] = in[d] / norm;
  }
};

template <class T>
struct UnitGradientItems {
  Matrix<const T> x;
  const T *out, *out_gradient;
  T* gradient;

  constexpr void operator()(int64_t b) const {
    const T norm = unit_norm(x.data + b * x.cols, x.cols);
    const T *y = out + b * x.cols, *dy = out_gradient + b * x.cols;
    T* to = gradient + b * x.cols;
    T along = 0;
    for (int64_t d = 0; d < x.cols; ++d) along += y[d] * dy[d];
    for (int64_t d = 0; d < x.cols; ++d) to[d] += (dy[d] - y[d] * along) / norm;
  }
};

// With e = head + relation - tail [B, D]: out [B] <- -(sum over d of |e_d|), or -sqrt(1e-12 + sum over d of e_d^2) when
// `squares`.  Bordes et al., "Translating embeddings for modeling multi-relational data", NIPS 2013.
template <class T>
struct Translation {
  Matrix<const T> head, relation, tail;
  bool squares;

  constexpr T error(int64_t position) const {
    return head.data[position] + relation.data[position] - tail.data[position];
  }
};

template <class T>
struct TranslationItems {
  Translation<T> of;
  T* out;

  constexpr void operator()(int64_t b) const {
    const int64_t cols = of.head.cols;
    T sum = of.squares ? static_cast<T>(kSmallestSquare) : T(0);
    for (int64_t p = b * cols; p < (b + 1) * cols; ++p) {
      const T error = of.error(p);
      sum += of.squares ? error * error : std::abs(error);
    }
    out[b] = of.squares ? -std::sqrt(sum) : -sum;
  }
};

// Item p is a value of the gradient of head and relation, or of tail with sign -1.
template <class T>
struct TranslationGradientItems {
  Translation<T> of;
  const T *out, *out_gradient;
  T sign;
  T* gradient;

  constexpr void operator()(int64_t p) const { add(p / of.head.cols, p); }

  constexpr void add(int64_t b, int64_t p) const {
    const T error = of.error(p), direction = static_cast<T>((error > 0) - (error < 0));
    gradient[p] += sign * out_gradient[b] * (of.squares ? error / out[b] : -direction);
  }
};

// Item i is a value of out [B, D], of vectors [B, F D].
template <class T>
struct PairProductItems {
  Matrix<const T> vectors;
  Matrix<T> out;

  constexpr void operator()(int64_t i) const { add_up(i / out.cols, i % out.cols); }

  constexpr void add_up(int64_t b, int64_t d) const {
    const T* in = vectors.data + b * vectors.cols;
    T product = 0, sum = 0;  // `sum` is the sum of the vectors before this one
    for (int64_t p = d; p < vectors.cols; p += out.cols) {
      product += sum * in[p];
      sum += in[p];
    }
    out.data[b * out.cols + d] = product;
  }
};

template <class T>
struct PairGradientItems {
  Matrix<const T> vectors, out_gradient;
  T* gradient;

  constexpr void operator()(int64_t i) const { add(i / out_gradient.cols, i % out_gradient.cols); }

  constexpr void add(int64_t b, int64_t d) const {
    const T* in = vectors.data + b * vectors.cols;
    T* to = gradient + b * vectors.cols;
    const int64_t width = out_gradient.cols;
    const T slope = out_gradient.data[b * width + d];
    T sum = 0;
    for (int64_t p = d; p < vectors.cols; p += width) sum += in[p];
    for (int64_t p = d; p < vectors.cols; p += width) to[p] += slope * (sum - in[p]);
  }
};

// Vectors [B, F, F, D]: [b, f, g] are those of field f that face field g.
struct FieldShape {
  int64_t fields, width;  // F, D

  constexpr int64_t row() const { return fields * width; }
};

// Item b is an example.
template <class T>
struct FieldItems {
  FieldShape shape;
  const T* vectors;
  T* out;

  constexpr void operator()(int64_t b) const {
    const T* in = vectors + b * shape.fields * shape.row();
    T sum = 0;
    for (int64_t f = 0; f < shape.fields; ++f) {
      for (int64_t g = f + 1; g < shape.fields; ++g) {
        const T* forth = in + f * shape.row() + g * shape.width;
        const T* back = in + g * shape.row() + f * shape.width;
        for (int64_t d = 0; d < shape.width; ++d) sum += forth[d] * back[d];
      }
    }
    out[b] = sum;
  }
};

// Item i is a value of the gradient of vectors [B, F, F, D].
template <class T>
struct FieldGradientItems {
  FieldShape shape;
  const T *vectors, *out_gradient;
  T* gradient;

  constexpr void operator()(int64_t i) const {
    const int64_t example = shape.fields * shape.row(), b = i / example, d = i % shape.width;
    const int64_t f = i % example / shape.row(), g = i % shape.row() / shape.width;
    const T facing = vectors[b * example + g * shape.row() + f * shape.width + d];
    gradient[i] = f == g ? T(0) : out_gradient[b] * facing;
  }
};

// Item b is an example: the row of its query's scores for all items becomes their softmax, with the largest score taken
// out of the sum.
template <class T>
struct OwnItemItems {
  Matrix<T> scores;
  const float* labels;
  const uint64_t* numbers;  // null: all items differ
  T* costs;

  constexpr void operator()(int64_t b) const {
    costs[b] = T(0);
    if (!(labels[b] > 0)) return;
    T* row = scores.data + b * scores.cols;
    const T own_score = row[b];
    T largest = own_score, sum = 0;
    for (int64_t j = 0; j < scores.cols; ++j) {
      if (counts(b, j)) largest = std::max(largest, row[j]);
    }
    for (int64_t j = 0; j < scores.cols; ++j)
      sum += row[j] = counts(b, j) ? std::exp(row[j] - largest) : T(0);
    for (int64_t j = 0; j < scores.cols; ++j) row[j] /= sum;
    costs[b] = std::log(sum) + (largest - own_score);
  }

 private:
  // Returns false for items, other than the example's own, that have the same number as that.
  constexpr bool counts(int64_t b, int64_t j) const {
    return j == b || numbers == nullptr || numbers[j] != numbers[b];
  }
};

// Item i is a value of probabilities [B, B], which becomes the gradient of the score.
template <class T>
struct OwnItemGradientItems {
  Matrix<T> probabilities;
  const float* labels;
  const T* out_gradient;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / probabilities.cols, j = i % probabilities.cols;
    const T slope = j == b ? probabilities.data[i] - 1 : probabilities.data[i];
    probabilities.data[i] = labels[b] > 0 ? slope * out_gradient[b] : T(0);
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_INTERACTION_ITEMS_H_
