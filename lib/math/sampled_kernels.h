// Kernels of costs over some classes alone: the scores of the classes that were drawn for each example, their
// gradients, and the costs that are made of them.  Used by the layers nce and hsigmoid.  T is float or
// double.
//
// Shapes: B examples of D values, K drawn ids, example b's at [offsets[b], offsets[b + 1]), N unique ids.
// Every sum has one writer, and runs in the order of the ids.
#ifndef PS_MATH_SAMPLED_KERNELS_H_
#define PS_MATH_SAMPLED_KERNELS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "math/device.h"
#include "math/items/sampled_items.h"
#include "math/key_plan.h"
#include "math/matrix.h"
#include "math/noise_distribution.h"

namespace ps {

// The rows of the drawn ids; bias and bias_use may be null.
template <class T>
struct SampledWeights {
  const KeyUse* use;       // of `weight`
  const T* const* weight;  // [N] pointers to D values
  const KeyUse* bias_use;  // of `bias`: the same ids
  const T* const* bias;    // [N] pointers to one value
};

// scores [K] <- weight[id k] . input[b] + bias[id k]
template <class T>
void score_samples(Device& device, const SampledWeights<T>& rows, Matrix<const T> input, T* scores);

// row_gradients [N, D] += the gradients of the weights, through the transposed part of the use.
template <class T>
void add_sample_weight_gradients(Device& device, const KeyUse& use, Matrix<const T> input,
                                 const SampledSlopes<T>& slopes, T* row_gradients);

// row_gradients [N] += the gradients of the biases.
template <class T>
void add_sample_bias_gradients(Device& device, const KeyUse& use, const SampledSlopes<T>& slopes,
                               T* row_gradients);

// input_gradients [B, D] += the gradients of the input.
template <class T>
void add_sample_input_gradients(Device& device, const SampledWeights<T>& rows, const SampledSlopes<T>& slopes,
                                Matrix<T> input_gradients);

// log_noise [K] <- log(n q(c)) of the drawn classes c, with the noise's probability q and n negatives an example.  On the
// processor.
void log_noise_of(Device& processor, std::span<const uint64_t> drawn, const NoiseDistribution& noise,
                  int64_t negatives, std::vector<double>& log_noise);

// Noise-contrastive estimation:
//   costs [B] <- the sum over an example's ids c of -log σ(z) for the first, the label, and of -log(1 - σ(z)) for
//   the others, with z = s - log_noise.  scores [K] become slopes.
// offsets [B + 1] and log_noise [K] stay as they are while the batch is computed.
template <class T>
void nce_costs(Device& device, std::span<const uint32_t> offsets, std::span<const double> log_noise,
               T* scores, T* costs);

// Hierarchical sigmoid over a binary tree, as lib/model/layers/hsigmoid.cc says: step j from the leaf of the
// label upwards came from the right child when bit j of label + num_classes is set.
//   costs [B] <- the sum over the path of log(1 + e^s) - bit s.  scores [K] become slopes.
template <class T>
void tree_costs(Device& device, std::span<const uint32_t> offsets, const float* labels, int64_t num_classes,
                T* scores, T* costs);

}  // namespace ps

#endif  // PS_MATH_SAMPLED_KERNELS_H_
