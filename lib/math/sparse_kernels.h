// Products of a sparse matrix (a slot of a batch) with rows of a table, and the gradients of those rows.
// T is float or double.  The loops are kernels, math/kernels/, which round alike at every level.
//
// Shapes: B examples, K ids, N unique keys, M of them touched, D values a row.  A KeyUse says where example b
// finds its rows; `values` [K] multiply them, null means all are 1.  Every sum runs in the order of the ids
// of an example, or of the examples of a row.  Results never alias the rows.
#ifndef PS_MATH_SPARSE_KERNELS_H_
#define PS_MATH_SPARSE_KERNELS_H_

#include "math/device.h"
#include "math/kernels/kernels.h"
#include "math/key_plan.h"
#include "math/matrix.h"

namespace ps {

// Returns true if add_bag_gradients is faster with a use that is not transposed: scattering one or two values
// takes 0.5 ns an id, while transposing takes 2 ns, and adding then as much again.
inline bool scatters_gradients(int64_t row_width) {
  return row_width <= 2;
}

// Returns the use and the values of its ids as kernels of this device can read them, until the next batch.
UseView view_use(Device& device, const KeyUse& use, const float* values);

// out[b] += sum over k of values[k] * rows[index[k]]
//   rows [N] pointers to D weights  ->  out [B, D]
template <class T>
void add_bags(Device& device, const KeyUse& use, const float* values, const T* const* rows, Columns<T> out);

// The same, and in the same pass over the rows, element by element:
//   squares[b] += sum over k of (values[k] * rows[index[k]])^2        squares [B, D]
template <class T>
void add_bags_and_squares(Device& device, const KeyUse& use, const float* values, const T* const* rows,
                          Columns<T> out, Columns<T> squares);

// row_gradients[n] += sum over b, k of values[k] * out_gradient[b]
//   out_gradient [B, D]  ->  row_gradients [N, D]
// A transposed use is summed by key, in blocks on the device; another one by example, on the caller's thread,
// with the same sums in the same order.  A device with memory of its own takes transposed uses alone.
template <class T>
void add_bag_gradients(Device& device, const KeyUse& use, const float* values, Columns<const T> out_gradient,
                       T* row_gradients);

// Copies the rows of an example's ids side by side: the j-th id of example b gives columns [j D, (j + 1) D)
// of out[b], multiplied by its value; columns without an id are 0.  No example has more than out.width / D
// ids.
//   rows [N] pointers to D weights  ->  out [B, width]
template <class T>
void copy_rows(Device& device, const KeyUse& use, const float* values, const T* const* rows,
               int64_t row_width, Columns<T> out);

// The gradient of copy: row_gradients [N, D] += the columns of out_gradient [B, width] that the row has
// filled.
template <class T>
void add_copied_gradients(Device& device, const KeyUse& use, const float* values,
                          Columns<const T> out_gradient, int64_t row_width, T* row_gradients);

// out[k] <- values[k] * rows[index[k]]: the rows of all ids, one after the other.
//   rows [N] pointers to D weights  ->  out [K, D]
template <class T>
void gather_rows(Device& device, const KeyUse& use, const float* values, const T* const* rows, Matrix<T> out);

// The gradient of gather_rows: row_gradients [N, D] += the rows of out_gradient [K, D], of a transposed use.
template <class T>
void add_gathered_gradients(Device& device, const KeyUse& use, const float* values,
                            Matrix<const T> out_gradient, T* row_gradients);

// The second-order factorisation machine, Rendle, ICDM 2010, equation 3 and its gradient, with the sums and
// squares of add_bags_and_squares:
//   out[b] = 1/2 sum over d of (sums[b, d]^2 - squares[b, d])
//   row_gradients[n] += sum over b, k of out_gradient[b] * values[k] * (sums[b] - values[k] * rows[n])
//   out_gradient [B], sums [B, D]  ->  row_gradients [N, D]
template <class T>
void add_pairwise_gradients(Device& device, const KeyUse& use, const float* values, const T* const* rows,
                            const T* out_gradient, Columns<const T> sums, T* row_gradients);

// out[b] /= the number of example b's ids; examples without any stay as they are.
template <class T>
void divide_by_counts(Device& device, const KeyUse& use, Columns<T> out);

// out[b] <- 1/2 sum over d of (sums[b][d]^2 - squares[b][d]), the sum of the products of all pairs of an
// example's rows, given what add_bags_and_squares makes.   sums and squares [rows, D]  ->  out [rows]
template <class T>
void add_up_pairs(Device& device, Columns<const T> sums, Columns<const T> squares, int64_t rows, T* out);

// pointers [N] <- to the rows of an array [N, width] that begins at `first`.
template <class T>
void point_to_rows(Device& device, T* first, int64_t rows, int64_t width, T** pointers);

}  // namespace ps

#endif  // PS_MATH_SPARSE_KERNELS_H_
