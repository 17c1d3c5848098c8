// Sequences of different lengths in one batch, and their rows in the order in which recurrent layers compute.
// Used by gru, lstm and sequence_pool.  T is float or double.
//
// Shapes: B examples, of which example b has the rows [offsets[b], offsets[b + 1]) of K rows; any may have none.
// A step t takes one row of every example that is longer than t.  Packed rows are ordered by step, and within a
// step by falling length of the example, so that the rows of a step are contiguous, and those that go on from the
// step before are the first ones of it: a step is one product of matrices, without padding.
#ifndef PS_MATH_SEQUENCES_H_
#define PS_MATH_SEQUENCES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "math/device.h"
#include "math/matrix.h"

namespace ps {

struct PackedSequences {
  std::vector<int64_t> starts;  // [T + 1]: step t has the packed rows [starts[t], starts[t + 1])
  std::vector<uint32_t> rows;   // [K]: by packed row, its row of the batch
  std::vector<int64_t> ends;    // [B]: the packed row of each example's last step, or -1

  int64_t num_steps() const { return static_cast<int64_t>(starts.size()) - 1; }
};

// packed <- the order for these offsets [B + 1].  If `reversed`, each example begins with its last row.
// Examples of one length keep their order.
void pack_sequences(std::span<const uint32_t> offsets, bool reversed, PackedSequences& packed);

// out [K, D] <- rows of the batch in packed order.
template <class T>
void pack_rows(Device& device, const PackedSequences& packed, Columns<const T> in, Matrix<T> out);

// The inverse: out [K, D] <- packed rows in the order of the batch.  The second function adds them to out.
template <class T>
void unpack_rows(Device& device, const PackedSequences& packed, Matrix<const T> in, Columns<T> out);
template <class T>
void add_unpacked_rows(Device& device, const PackedSequences& packed, Matrix<const T> in, Columns<T> out);

// out [B, D] <- the packed row of each example's last step, or 0 if it has none.  The second function is its
// gradient.
template <class T>
void copy_last_rows(Device& device, const PackedSequences& packed, Matrix<const T> in, Columns<T> out);
template <class T>
void add_last_gradients(Device& device, const PackedSequences& packed, Columns<const T> out_gradient,
                        Matrix<T> in_gradient);

// out [B, D] <- the largest value of each column among an example's rows of `in` [K, D], 0 without rows; argmax
// [B, D] <- the row of the first such value.  The second function is its gradient.
template <class T>
void copy_largest(Device& device, std::span<const uint32_t> offsets, Matrix<const T> in, Matrix<T> out,
                  uint32_t* argmax);
template <class T>
void add_largest_gradients(Device& device, std::span<const uint32_t> offsets, Matrix<const T> out_gradient,
                           const uint32_t* argmax, Matrix<T> in_gradient);

// out [B, D] <- sum of weights [K] times rows of `in` [K, D], example by example, in the order of the rows.
// The second function computes its gradients: it adds those of the rows, and overwrites weight_gradients [K]
// unless that is null.
template <class T>
void sum_weighted_rows(Device& device, std::span<const uint32_t> offsets, const T* weights,
                       Matrix<const T> in, Matrix<T> out);
template <class T>
void add_weighted_gradients(Device& device, std::span<const uint32_t> offsets, const T* weights,
                            Matrix<const T> in, Matrix<const T> out_gradient, T* weight_gradients,
                            Matrix<T> in_gradient);

// weights [K] <- 1; or, if `mean`, 1 / count for the rows of an example that has `count` rows.
template <class T>
void set_equal_weights(Device& device, std::span<const uint32_t> offsets, bool mean, T* weights);

// scores [K] <- the softmax of the scores, over the rows of each example.
template <class T>
void softmax_of_sequences(Device& device, std::span<const uint32_t> offsets, T* scores);

// gradients [K] <- gradients of the scores, given those of their softmax `weights` [K].
template <class T>
void softmax_of_sequences_backward(Device& device, std::span<const uint32_t> offsets, const T* weights,
                                   T* gradients);

}  // namespace ps

#endif  // PS_MATH_SEQUENCES_H_
