#include "math/interaction_kernels.h"

#include <algorithm>

#include "base/error.h"
#include "base/reals.h"
#include "math/blocks.h"

namespace ps {

namespace {

constexpr int64_t kExpWork = 32;  // operations of an exponential, with room

// How the kernels of this file divide their work: an item is an example, or one value of a vector.  On a device with
// memory of its own every value is an item (run_there).  On the processor a block has whole examples and loops over
// their values, which saves the division that finds the example of a value.  Both call the same rule of math/items/.
template <class T>
DotInputs<T> dot_inputs(std::span<const Matrix<const T>> inputs) {
  PS_CHECK(std::ssize(inputs) <= DotInputs<T>::kMost);
  DotInputs<T> of{{}, std::ssize(inputs), inputs[0].cols};
  for (size_t i = 0; i < inputs.size(); ++i) of.inputs[i] = inputs[i].data;
  return of;
}

}  // namespace

template <class T>
void dot_products(Device& device, std::span<const Matrix<const T>> inputs, T* out) {
  for_items(device, inputs[0].rows, inputs[0].cols, DotItems<T>{dot_inputs(inputs), out});
}

template <class T>
void add_dot_gradients(Device& device, std::span<const Matrix<const T>> inputs, size_t of,
                       const T* out_gradient, Matrix<T> gradient) {
  if (!gradient) return;
  const DotGradientItems<T> items{dot_inputs(inputs), static_cast<int64_t>(of), out_gradient, gradient.data};
  if (run_there(device, gradient.size(), items)) return;
  for_items(device, gradient.rows, gradient.cols, [=](int64_t b) {
    for (int64_t p = b * gradient.cols; p < (b + 1) * gradient.cols; ++p) items.add(b, p);
  });
}

template <class T>
void scale_to_unit(Device& device, Matrix<const T> x, T* out) {
  for_items(device, x.rows, x.cols, UnitItems<T>{x, out});
}

template <class T>
void add_unit_gradients(Device& device, Matrix<const T> x, const T* out, const T* out_gradient,
                        Matrix<T> gradient) {
  if (!gradient) return;
  for_items(device, x.rows, x.cols, UnitGradientItems<T>{x, out, out_gradient, gradient.data});
}

template <class T>
void translation_scores(Device& device, const Translation<T>& of, T* out) {
  for_items(device, of.head.rows, of.head.cols, TranslationItems<T>{of, out});
}

template <class T>
void add_translation_gradients(Device& device, const Translation<T>& of, const T* out, const T* out_gradient,
                               std::type_identity_t<T> sign, Matrix<T> gradient) {
  if (!gradient) return;
  const TranslationGradientItems<T> items{of, out, out_gradient, sign, gradient.data};
  if (run_there(device, gradient.size(), items)) return;
  for_items(device, gradient.rows, gradient.cols, [=](int64_t b) {
    for (int64_t p = b * gradient.cols; p < (b + 1) * gradient.cols; ++p) items.add(b, p);
  });
}

template <class T>
void pair_products(Device& device, Matrix<const T> vectors, Matrix<T> out) {
  const PairProductItems<T> items{vectors, out};
  if (run_there(device, out.size(), items)) return;
  for_items(device, out.rows, vectors.cols, [=](int64_t b) {
    for (int64_t d = 0; d < out.cols; ++d) items.add_up(b, d);
  });
}

template <class T>
void add_pair_gradients(Device& device, Matrix<const T> vectors, Matrix<const T> out_gradient,
                        Matrix<T> gradient) {
  if (!gradient) return;
  const PairGradientItems<T> items{vectors, out_gradient, gradient.data};
  if (run_there(device, out_gradient.size(), items)) return;
  for_items(device, vectors.rows, vectors.cols, [=](int64_t b) {
    for (int64_t d = 0; d < out_gradient.cols; ++d) items.add(b, d);
  });
}

template <class T>
void field_products(Device& device, const FieldShape& shape, Matrix<const T> vectors, T* out) {
  for_items(device, vectors.rows, vectors.cols, FieldItems<T>{shape, vectors.data, out});
}

// A vector v_fg of the example (of field f for field g) occurs in one product, with v_gf: its gradient is
// out_gradient[b] v_gf.  A field has no product with itself, so that the gradient of v_ff is 0.
template <class T>
void field_gradients(Device& device, const FieldShape& shape, Matrix<const T> vectors, const T* out_gradient,
                     T* gradient) {
  if (run_there(device, vectors.size(), FieldGradientItems<T>{shape, vectors.data, out_gradient, gradient}))
    return;
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
  for_items(device, scores.rows, scores.cols * kExpWork,
            OwnItemItems<T>{scores, mirror(device, labels, scores.rows), mirror(device, numbers, scores.rows),
                            costs});
}

// The gradient of a score, out_gradient[b] (p_j - 1) at the own item j = b and out_gradient[b] p_j at all
// others, takes the place of its probability p_j.  Rows of examples that cost nothing become 0.
template <class T>
void in_batch_gradients(Device& device, Matrix<T> probabilities, const float* labels, const T* out_gradient) {
  const float* const own = mirror(device, labels, probabilities.rows);
  if (run_there(device, probabilities.size(), OwnItemGradientItems<T>{probabilities, own, out_gradient}))
    return;
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
