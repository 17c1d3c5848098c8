// Kernels of products between vectors of an example.  Used by layers that match two or more vectors.  T is float or
// double.  Devices with memory of their own run them all.
//
// Shapes: B examples, D values a vector, F fields.  Gradients are added to the values that are there; a null
// gradient is not wanted.  Sums run in the order of the values.
#ifndef PS_MATH_INTERACTION_KERNELS_H_
#define PS_MATH_INTERACTION_KERNELS_H_

#include <cstdint>
#include <span>
#include <type_traits>

#include "math/device.h"
#include "math/items/interaction_items.h"
#include "math/matrix.h"

namespace ps {

// out [B] <- sum over d of the product over i of inputs[i][b, d], with two or three inputs [B, D].
template <class T>
void dot_products(Device& device, std::span<const Matrix<const T>> inputs, T* out);
// gradient [B, D] += the gradient of inputs[of], given out_gradient [B].
template <class T>
void add_dot_gradients(Device& device, std::span<const Matrix<const T>> inputs, size_t of,
                       const T* out_gradient, Matrix<T> gradient);

// out [B, D] <- x / |x|, with |x|^2 = 1e-12 + sum over d of x_d^2, so that zeros stay zeros.
template <class T>
void scale_to_unit(Device& device, Matrix<const T> x, T* out);
// gradient [B, D] += (out_gradient - out (out . out_gradient)) / |x|, given both of the above.
template <class T>
void add_unit_gradients(Device& device, Matrix<const T> x, const T* out, const T* out_gradient,
                        Matrix<T> gradient);

// out [B] <- the scores of Translation (math/items/interaction_items.h).
template <class T>
void translation_scores(Device& device, const Translation<T>& of, T* out);
// gradient [B, D] += sign x that of head, given out [B] and out_gradient [B]: sign 1 for head and relation, -1 for tail.
template <class T>
void add_translation_gradients(Device& device, const Translation<T>& of, const T* out, const T* out_gradient,
                               std::type_identity_t<T> sign, Matrix<T> gradient);

// Bi-interaction pooling: He and Chua, "Neural factorization machines", SIGIR 2017.  The vectors v of an example are F
// of width D side by side: out [B, D] <- sum over pairs i < j of v_i v_j, element by element.
template <class T>
void pair_products(Device& device, Matrix<const T> vectors, Matrix<T> out);
// gradient [B, F D] += out_gradient x the sum of the other vectors, at each vector.
template <class T>
void add_pair_gradients(Device& device, Matrix<const T> vectors, Matrix<const T> out_gradient,
                        Matrix<T> gradient);

// Field-aware factorisation machine: Juan et al., RecSys 2016.  vectors [B, F, F, D]: [b, f, g] are the vectors of the
// ids of field f that face field g, summed.  out [B] <- sum over f < g of vectors[b, f, g] . vectors[b, g, f].
template <class T>
void field_products(Device& device, const FieldShape& shape, Matrix<const T> vectors, T* out);
// gradient [B, F, F, D] <- the gradient of the vectors, given out_gradient [B]; it is 0 where f = g.
template <class T>
void field_gradients(Device& device, const FieldShape& shape, Matrix<const T> vectors, const T* out_gradient,
                     T* gradient);

// The softmax of an example's own item among the items of the batch.  scores [B, B] are those of query b and
// item j. numbers [B] identify the items; if null, all differ.  Items with the same number as b's own are left
// out of the softmax.
//   costs [B] <- -log softmax(scores[b])[b] where labels[b] > 0, else 0; scores <- the probabilities
// labels and numbers are in memory of the host, and do not change while the batch is computed.
template <class T>
void in_batch_softmax(Device& device, Matrix<T> scores, const float* labels, const uint64_t* numbers,
                      T* costs);
// probabilities [B, B] <- the gradient of the scores, given out_gradient [B].
template <class T>
void in_batch_gradients(Device& device, Matrix<T> probabilities, const float* labels, const T* out_gradient);

}  // namespace ps

#endif  // PS_MATH_INTERACTION_KERNELS_H_
