// Scaled dot-product attention of each example's rows to each other, in several heads, and encodings of positions:
// Vaswani et al., "Attention is all you need", NeurIPS 2017, sections 3.2 and 3.5.  Used by the layers attention and
// position_encoding.  T is float or double.
//
// Shapes: K rows, of which example b has [offsets[b], offsets[b + 1]); H heads of width d; E = H d.  Arrays of heads
// are [H, K, d], so that the rows of an example lie together in each head.
#ifndef PS_MATH_ATTENTION_H_
#define PS_MATH_ATTENTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "math/device.h"
#include "math/device_buffer.h"
#include "math/items/attention_items.h"
#include "math/matrix.h"

namespace ps {

// The arrays of one pass, or their gradients.
template <class T>
struct AttentionArrays {
  T *queries, *keys, *values, *outputs;  // [H, K, d]
  T* weights;                            // [H, S]: a square [n, n] for each example of n rows, by query
};

// squares [B + 1] <- the positions at which the weights of each example begin among the weights of a head,
// which are sums of n^2; the last one is S.
void count_squares(std::span<const uint32_t> offsets, std::vector<int64_t>& squares);

// split_heads: heads [G, H, K, d] <- rows [K, G H d]. join_heads is the inverse.  G is 1 or more.
template <class T>
void split_heads(Device& device, Matrix<const T> rows, int64_t width, T* heads);
template <class T>
void join_heads(Device& device, const T* heads, int64_t width, Matrix<T> rows);

// weights <- softmax(queries keysᵀ / sqrt(d)) and outputs <- weights values, example by example and head by head.
template <class T>
void attend(Device& device, const AttentionShape& shape, std::span<const uint32_t> offsets,
            std::span<const int64_t> squares, const AttentionArrays<T>& arrays);

// gradients.{queries, keys, values} <- the gradients, given gradients.outputs; gradients.weights is overwritten.
template <class T>
void attend_backward(Device& device, const AttentionShape& shape, std::span<const uint32_t> offsets,
                     std::span<const int64_t> squares, const AttentionArrays<T>& arrays,
                     const AttentionArrays<T>& gradients);

// out [K, D] <- in + the encoding of the row's position t in its example, from 0:
//   column 2 i: sin(t / 10000^(2 i / D))    column 2 i + 1: cos(t / 10000^(2 i / D))
// For a device with memory of its own the processor computes the encodings, which are copied to `encodings`; the caller keeps
// it for the next call.
template <class T>
void add_position_encoding(Device& device, std::span<const uint32_t> offsets, Matrix<const T> in,
                           DeviceBuffer<T>& encodings, Matrix<T> out);

}  // namespace ps

#endif  // PS_MATH_ATTENTION_H_
