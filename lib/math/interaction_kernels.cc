#include "math/interaction_kernels.h"

#include <algorithm>
#include <cmath>

#include "base/reals.h"
#include "math/blocks.h"

namespace ps {

namespace {

constexpr double kSmallestSquare = 1e-12;  // keeps roots and quotients differentiable at 0
constexpr int64_t kExpWork = 32;           // operations of an exponential, with room

// The product of all inputs at one place but that of number `left_out`.
template <class T>
T product_at(std::span<const Matrix<const T>> inputs, int64_t place, size_t left_out) {
  T product = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i != left_out) product *= inputs[i].data[place];
  }
  return product;
}

template <class T>
T unit_norm(const T* x, int64_t size) {
  T sum = static_cast<T>(kSmallestSquare);
  for (int64_t d = 0; d < size; ++d) sum += x[d] * x[d];
  return std::sqrt(sum);
}

template <class T>
T translation_error(const Translation<T>& of, int64_t place) {
  return of.head.data[place] + of.relation.data[place] - of.tail.data[place];
}

template <class T>
T sign_of(T x) {
  return static_cast<T>((x > 0) - (x < 0));
}

// One row of in_batch_softmax, with the largest score taken out of the sum.
template <class T>
T own_item_cost(T* row, int64_t items, int64_t own, const uint64_t* numbers) {
  const auto counts = [=](int64_t j) { return j == own || numbers == nullptr || numbers[j] != numbers[own]; };
  T largest = row[own], sum = 0;
  for (int64_t j = 0; j < items; ++j) {
    if (counts(j)) largest = std::max(largest, row[j]);
  }
  const T own_score = row[own];
  for (int64_t j = 0; j < items; ++j) sum += row[j] = counts(j) ? std::exp(row[j] - largest) : T(0);
  for (int64_t j = 0; j < items; ++j) row[j] /= sum;
  return std::log(sum) + (largest - own_score);
}

}  // namespace

template <class T>
void dot_products(Device& device, std::span<const Matrix<const T>> inputs, T* out) {
  const int64_t cols = inputs[0].cols;
  for_items(device, inputs[0].rows, cols, [=](int64_t b) {
    T sum = 0;
    for (int64_t p = b * cols; p < (b + 1) * cols; ++p) sum += product_at(inputs, p, inputs.size());
    out[b] = sum;
  });
}

template <class T>
void add_dot_gradients(Device& device, std::span<const Matrix<const T>> inputs, size_t of,
                       const T* out_gradient, Matrix<T> gradient) {
  if (!gradient) return;
  const int64_t cols = gradient.cols;
  for_items(device, gradient.rows, cols, [=](int64_t b) {
    for (int64_t p = b * cols; p < (b + 1) * cols; ++p)
      gradient.data[p] += out_gradient[b] * product_at(inputs, p, of);
  });
}

template <class T>
void scale_to_unit(Device& device, Matrix<const T> x, T* out) {
  for_items(device, x.rows, x.cols, [=](int64_t b) {
    const T norm = unit_norm(x.row(b), x.cols);
    for (int64_t d = 0; d < x.cols; ++d) out[b * x.cols + d] = x.row(b)[d] / norm;
  });
}

template <class T>
void add_unit_gradients(Device& device, Matrix<const T> x, const T* out, const T* out_gradient,
                        Matrix<T> gradient) {
  if (!gradient) return;
  for_items(device, x.rows, x.cols, [=](int64_t b) {
    const T norm = unit_norm(x.row(b), x.cols);
    const T *y = out + b * x.cols, *dy = out_gradient + b * x.cols;
    T along = 0;
    for (int64_t d = 0; d < x.cols; ++d) along += y[d] * dy[d];
    for (int64_t d = 0; d < x.cols; ++d) gradient.row(b)[d] += (dy[d] - y[d] * along) / norm;
  });
}

template <class T>
void translation_scores(Device& device, const Translation<T>& of, T* out) {
  const int64_t cols = of.head.cols;
  for_items(device, of.head.rows, cols, [=](int64_t b) {
    T sum = of.squares ? static_cast<T>(kSmallestSquare) : T(0);
    for (int64_t p = b * cols; p < (b + 1) * cols; ++p) {
      const T error = translation_error(of, p);
      sum += of.squares ? error * error : std::abs(error);
    }
    out[b] = of.squares ? -std::sqrt(sum) : -sum;
  });
}

template <class T>
void add_translation_gradients(Device& device, const Translation<T>& of, const T* out, const T* out_gradient,
                               std::type_identity_t<T> sign, Matrix<T> gradient) {
  if (!gradient) return;
  const int64_t cols = gradient.cols;
  for_items(device, gradient.rows, cols, [=](int64_t b) {
    for (int64_t p = b * cols; p < (b + 1) * cols; ++p) {
      const T error = translation_error(of, p);
      gradient.data[p] += sign * out_gradient[b] * (of.squares ? error / out[b] : -sign_of(error));
    }
  });
}

template <class T>
void pair_products(Device& device, Matrix<const T> vectors, Matrix<T> out) {
  for_items(device, vectors.rows, vectors.cols, [=](int64_t b) {
    T* products = out.row(b);
    std::fill_n(products, out.cols, T(0));
    for (int64_t d = 0; d < out.cols; ++d) {
      T sum = 0;  // of the vectors before this one
      for (int64_t p = d; p < vectors.cols; p += out.cols) {
        products[d] += sum * vectors.row(b)[p];
        sum += vectors.row(b)[p];
      }
    }
  });
}

template <class T>
void add_pair_gradients(Device& device, Matrix<const T> vectors, Matrix<const T> out_gradient,
                        Matrix<T> gradient) {
  if (!gradient) return;
  const int64_t width = out_gradient.cols;
  for_items(device, vectors.rows, vectors.cols, [=](int64_t b) {
    for (int64_t d = 0; d < width; ++d) {
      T sum = 0;
      for (int64_t p = d; p < vectors.cols; p += width) sum += vectors.row(b)[p];
      for (int64_t p = d; p < vectors.cols; p += width)
        gradient.row(b)[p] += out_gradient.row(b)[d] * (sum - vectors.row(b)[p]);
    }
  });
}

template <class T>
void field_products(Device& device, const FieldShape& shape, Matrix<const T> vectors, T* out) {
  for_items(device, vectors.rows, vectors.cols, [=](int64_t b) {
    T sum = 0;
    for (int64_t f = 0; f < shape.fields; ++f) {
      for (int64_t g = f + 1; g < shape.fields; ++g) {
        const T* forth = vectors.row(b) + f * shape.row() + g * shape.width;
        const T* back = vectors.row(b) + g * shape.row() + f * shape.width;
        for (int64_t d = 0; d < shape.width; ++d) sum += forth[d] * back[d];
      }
    }
    out[b] = sum;
  });
}

template <class T>
void field_gradients(Device& device, const FieldShape& shape, Matrix<const T> vectors, const T* out_gradient,
                     T* gradient) {
  for_items(device, vectors.rows, vectors.cols, [=](int64_t b) {
    for (int64_t f = 0; f < shape.fields; ++f) {
      for (int64_t g = 0; g < shape.fields; ++g) {
        T* slopes = gradient + b * vectors.cols + f * shape.row() + g * shape.width;
        const T* back = vectors.row(b) + g * shape.row() + f * shape.width;
        for (int64_t d = 0; d < shape.width; ++d) slopes[d] = f == g ? T(0) : out_gradient[b] * back[d];
      }
    }
  });
}

template <class T>
void in_batch_softmax(Device& device, Matrix<T> scores, const float* labels, const uint64_t* numbers,
                      T* costs) {
  for_items(device, scores.rows, scores.cols * kExpWork, [=](int64_t b) {
    costs[b] = labels[b] > 0 ? own_item_cost(scores.row(b), scores.cols, b, numbers) : T(0);
  });
}

template <class T>
void in_batch_gradients(Device& device, Matrix<T> probabilities, const float* labels, const T* out_gradient) {
  for_items(device, probabilities.rows, probabilities.cols, [=](int64_t b) {
    T* row = probabilities.row(b);
    if (!(labels[b] > 0)) return static_cast<void>(std::fill_n(row, probabilities.cols, T(0)));
    row[b] -= 1;
    for (int64_t j = 0; j < probabilities.cols; ++j) row[j] *= out_gradient[b];
  });
}

#define PS_INSTANTIATE(T)                                                                                    \
  template void dot_products(Device&, std::span<const Matrix<const T>>, T*);                                 \
  template void add_dot_gradients(Device&, std::span<const Matrix<const T>>, size_t, const T*, Matrix<T>);   \
  template void scale_to_unit(Device&, Matrix<const T>, T*);                                                 \
  template void add_unit_gradients(Device&, Matrix<const T>, const T*, const T*, Matrix<T>);                 \
  template void translation_scores(Device&, const Translation<T>&, T*);                                      \
  template void add_translation_gradients(Device&, const Translation<T>&, const T*, const T*, T, Matrix<T>); \
  template void pair_products(Device&, Matrix<const T>, Matrix<T>);                                          \
  template void add_pair_gradients(Device&, Matrix<const T>, Matrix<const T>, Matrix<T>);                    \
  template void field_products(Device&, const FieldShape&, Matrix<const T>, T*);                             \
  template void field_gradients(Device&, const FieldShape&, Matrix<const T>, const T*, T*);                  \
  template void in_batch_softmax(Device&, Matrix<T>, const float*, const uint64_t*, T*);                     \
  template void in_batch_gradients(Device&, Matrix<T>, const float*, const T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
