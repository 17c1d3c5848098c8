#include "math/cost_kernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/stable.h"

namespace ps {

namespace {

constexpr int64_t kLossWork = 1024;     // operations, with room: blocks of 1024 examples
constexpr int64_t kClassExamples = 16;  // examples of a block, for costs whose examples have many values

// Calls body(b) for every example b, in blocks.
template <class Body>
void for_class_examples(Device& device, int64_t examples, const Body& body) {
  if (run_there(device, examples, body)) return;
  device.for_each(examples, kClassExamples, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) body(b);
  });
}

// Returns the targets as kernels of this device can read them.
CostTargets targets_there(Device& device, const CostTargets& targets, int64_t examples, int64_t classes = 0) {
  return {mirror(device, targets.labels, examples), mirror(device, targets.weights, examples),
          targets.positive, mirror(device, targets.class_weights, classes)};
}

}  // namespace

template <class T, class Loss>
void evaluate_losses(Device& device, const Loss& loss, Matrix<const T> values, const CostTargets& targets,
                     T* costs, T* gradient) {
  const CostTargets there = targets_there(device, targets, values.rows);
  for_items(device, values.rows, kLossWork, LossItems<T, Loss>{loss, values.data, there, costs, gradient});
}

template <class T>
void softmax_cross_entropy(Device& device, Matrix<const T> scores, const CostTargets& targets,
                           std::type_identity_t<T> smoothing, T* costs, Matrix<T> gradient) {
  const CostTargets there = targets_there(device, targets, scores.rows, scores.cols);
  for_class_examples(device, scores.rows, SoftmaxCostItems<T>{scores, there, smoothing, costs, gradient});
}

template <class T>
void label_set_costs(Device& device, Matrix<const T> scores, const LabelSets& labels, int64_t num_labels,
                     const float* weights, std::type_identity_t<T> positive, T* costs, Matrix<T> gradient) {
  const LabelSets there{mirror(device, labels.offsets, scores.rows + 1),
                        mirror(device, labels.classes, num_labels)};
  for_class_examples(
      device, scores.rows,
      LabelSetCostItems<T>{scores, there, mirror(device, weights, scores.rows), positive, costs, gradient});
}

template <class T>
void cross_entropy(Device& device, Matrix<const T> probabilities, const CostTargets& targets, T* costs,
                   Matrix<T> gradient) {
  const CostTargets there = targets_there(device, targets, probabilities.rows, probabilities.cols);
  for_class_examples(device, probabilities.rows,
                     ProbabilityCostItems<T>{probabilities, there, costs, gradient});
}

// scratch [B] <- the value that each example has for its label.  A device gives these back, since an error
// is thrown on the processor.  kRounding lets probabilities pass that rounding has moved beyond 0 or 1; the
// condition is written so that a NaN fails it.
template <class T>
std::optional<Improbable<T>> find_improbable(Device& device, Matrix<const T> probabilities,
                                             const CostTargets& targets, T* scratch) {
  constexpr T kRounding = T(1e-3);
  const CostTargets there = targets_there(device, targets, probabilities.rows);
  for_class_examples(device, probabilities.rows, LabelValueItems<T>{probabilities, there.labels, scratch});
  std::vector<T> values;
  const T* of_labels = scratch;
  if (DeviceKernels* const kernels = device.kernels().get()) {
    values.resize(static_cast<size_t>(probabilities.rows));
    kernels->receive(values.data(), scratch, values.size() * sizeof(T));
    of_labels = values.data();
  }
  for (int64_t b = 0; b < probabilities.rows; ++b) {
    if (!(of_labels[b] >= -kRounding && of_labels[b] <= 1 + kRounding)) return Improbable<T>{b, of_labels[b]};
  }
  return std::nullopt;
}

template <class T>
void sum_costs(Device& device, Matrix<const T> values, const CostTargets& targets, T* costs,
               Matrix<T> gradient) {
  const CostTargets there = targets_there(device, targets, values.rows);
  for_items(device, values.rows, values.cols, SumCostItems<T>{values, there, costs, gradient});
}

template <class T>
void copy_predictions(Device& device, Matrix<const T> output, float* predictions) {
  for_items(device, output.size(), 1, PredictionItems<T>{output.data, predictions});
}

template <class T>
void logistic_predictions(Device& device, Matrix<const T> output, float* predictions) {
  for_items(device, output.size(), kLossWork, LogisticPredictionItems<T>{output.data, predictions});
}

// Sums in doubles, in the order of the examples, on one thread: the total must not depend on threads, nor
// on the device.
template <class T>
double total_cost(Device& device, const T* costs, int64_t size) {
  if (DeviceKernels* there = device.kernels().get()) {
    std::vector<T> received(static_cast<size_t>(size));
    there->receive(received.data(), costs, static_cast<uint64_t>(size) * sizeof(T));
    return total_cost<T>(device.host(), received.data(), size);
  }
  double sum = 0;
  device.run(1, [&](int64_t) {
    for (int64_t b = 0; b < size; ++b) sum += static_cast<double>(costs[b]);
  });
  return sum;
}

#define PS_INSTANTIATE_LOSS(T, Loss) \
  template void evaluate_losses(Device&, const Loss&, Matrix<const T>, const CostTargets&, T*, T*);
#define PS_INSTANTIATE(T)                                                                                  \
  PS_INSTANTIATE_LOSS(T, LogisticLoss)                                                                     \
  PS_INSTANTIATE_LOSS(T, SmoothedLogisticLoss)                                                             \
  PS_INSTANTIATE_LOSS(T, FocalLoss)                                                                        \
  PS_INSTANTIATE_LOSS(T, SquaredLoss)                                                                      \
  PS_INSTANTIATE_LOSS(T, AbsoluteLoss)                                                                     \
  PS_INSTANTIATE_LOSS(T, HuberLoss)                                                                        \
  template void softmax_cross_entropy(Device&, Matrix<const T>, const CostTargets&, T, T*, Matrix<T>);     \
  template void label_set_costs(Device&, Matrix<const T>, const LabelSets&, int64_t, const float*, T, T*,  \
                                Matrix<T>);                                                                \
  template void cross_entropy(Device&, Matrix<const T>, const CostTargets&, T*, Matrix<T>);                \
  template std::optional<Improbable<T>> find_improbable(Device&, Matrix<const T>, const CostTargets&, T*); \
  template void sum_costs(Device&, Matrix<const T>, const CostTargets&, T*, Matrix<T>);                    \
  template void copy_predictions(Device&, Matrix<const T>, float*);                                        \
  template void logistic_predictions(Device&, Matrix<const T>, float*);                                    \
  template double total_cost(Device&, const T*, int64_t);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE
#undef PS_INSTANTIATE_LOSS

}  // namespace ps
