// Kernels of costs.  Used by the costs of models, which have checked the labels.  T is float or double.
//
// Shapes: B examples, C values an example.  All costs are multiplied by the weights of their examples;
// gradients are those of the sum of the costs, and null when they are not wanted.  Targets are always in the memory of
// the host, and stay as they are while the batch is computed.
#ifndef PS_MATH_COST_KERNELS_H_
#define PS_MATH_COST_KERNELS_H_

#include <cstdint>
#include <optional>
#include <type_traits>

#include "math/device.h"
#include "math/items/cost_items.h"
#include "math/matrix.h"

namespace ps {

// costs [B] <- loss(values[b], labels[b]); gradient [B].  Loss is one of math/loss_rules.h.
template <class T, class Loss>
void evaluate_losses(Device& device, const Loss& loss, Matrix<const T> values, const CostTargets& targets,
                     T* costs, T* gradient);

// costs [B] <- -log softmax(scores[b])[label]; gradient [B, C].  With smoothing > 0, the target is a
// distribution: the label with probability 1 - smoothing, else any class, all alike; the cost is the mean over
// it.
template <class T>
void softmax_cross_entropy(Device& device, Matrix<const T> scores, const CostTargets& targets,
                           std::type_identity_t<T> smoothing, T* costs, Matrix<T> gradient);

// costs [B] <- the sum over the classes c of the logistic loss of scores[b][c]; gradient [B, C].  The label of a
// class is 1 if the example has the class, and its loss then counts `positive` times; else it is 0.  `labels`
// has num_labels classes, all below C; weights [B] or null.
template <class T>
void label_set_costs(Device& device, Matrix<const T> scores, const LabelSets& labels, int64_t num_labels,
                     const float* weights, std::type_identity_t<T> positive, T* costs, Matrix<T> gradient);

// costs [B] <- -log probabilities[b][label]; gradient [B, C].
template <class T>
void cross_entropy(Device& device, Matrix<const T> probabilities, const CostTargets& targets, T* costs,
                   Matrix<T> gradient);

// An example, and the value of its label.
template <class T>
struct Improbable {
  int64_t example;
  T value;
};

// Returns the first example with a value outside [0, 1] for its label, beyond rounding, if there is one.
//   scratch [B], where the costs would lie
template <class T>
std::optional<Improbable<T>> find_improbable(Device& device, Matrix<const T> probabilities,
                                             const CostTargets& targets, T* scratch);

// costs [B] <- the sum of an example's C values; gradient [B, C].
template <class T>
void sum_costs(Device& device, Matrix<const T> values, const CostTargets& targets, T* costs,
               Matrix<T> gradient);

// predictions [B, C] <- output, and logistic(output).
template <class T>
void copy_predictions(Device& device, Matrix<const T> output, float* predictions);
template <class T>
void logistic_predictions(Device& device, Matrix<const T> output, float* predictions);

// The sum of `size` costs, in order.
template <class T>
double total_cost(Device& device, const T* costs, int64_t size);

}  // namespace ps

#endif  // PS_MATH_COST_KERNELS_H_
