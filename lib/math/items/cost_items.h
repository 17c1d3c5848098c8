// The items of the kernels of math/cost_kernels.h: an example, or a value for predictions.  The processor and devices
// with memory of their own both compile them (math/device_kernels.h).  Gradients are null when they are not wanted.
#ifndef PS_MATH_ITEMS_COST_ITEMS_H_
#define PS_MATH_ITEMS_COST_ITEMS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "math/loss_rules.h"
#include "math/matrix.h"
#include "math/stable.h"

namespace ps {

// The labels and weights of B examples; weights null means all are 1.  An example with a positive label has
// `positive` times its weight, and, if classes have weights, that of its label's class times it.
struct CostTargets {
  const float* labels;   // [B]
  const float* weights;  // [B]
  float positive = 1;
  const float* class_weights = nullptr;  // by class, or null

  constexpr float weight(int64_t example) const {
    float own = weights == nullptr ? 1.0f : weights[example];
    if (class_weights != nullptr) own *= class_weights[static_cast<int64_t>(labels[example])];
    return labels[example] > 0 ? own * positive : own;
  }
};

template <class T, class Loss>
struct LossItems {
  Loss loss;
  const T* values;
  CostTargets targets;
  T *costs, *gradient;

  constexpr void operator()(int64_t b) const {
    const T weight = targets.weight(b);
    T slope = 0;
    costs[b] = weight * loss(values[b], T(targets.labels[b]), slope);
    if (gradient) gradient[b] = weight * slope;
  }
};

// log(sum of e^s) - (1 - smoothing) s[label] - smoothing x the mean of s, with the largest s taken out of the sum.
template <class T>
struct SoftmaxCostItems {
  Matrix<const T> scores;
  CostTargets targets;
  T smoothing;
  T* costs;
  Matrix<T> gradient;

  constexpr void operator()(int64_t b) const {
    const T* s = scores.data + b * scores.cols;
    T* slopes = gradient.data == nullptr ? nullptr : gradient.data + b * gradient.cols;
    const T weight = targets.weight(b);
    T largest = s[0], sum = 0;
    for (int64_t c = 1; c < scores.cols; ++c) largest = std::max(largest, s[c]);
    for (int64_t c = 0; c < scores.cols; ++c) {
      const T power = std::exp(s[c] - largest);
      sum += power;
      if (slopes) slopes[c] = power;
    }
    const int64_t label = static_cast<int64_t>(targets.labels[b]);
    if (slopes) {
      for (int64_t c = 0; c < scores.cols; ++c) slopes[c] *= weight / sum;
      slopes[label] -= weight;
    }
    costs[b] = weight * (std::log(sum) + (largest - s[label]));
    if (smoothing != 0) costs[b] += smooth(s, label, weight * smoothing, slopes);
  }

 private:
  // Moves a part of the target from the label to all classes alike, and returns the change of the cost: the part times
  // s[label] - the mean of s.
  constexpr T smooth(const T* s, int64_t label, T part, T* slopes) const {
    T below = 0;  // the sum of s[label] - s, where each term is small
    for (int64_t c = 0; c < scores.cols; ++c) below += s[label] - s[c];
    const T share = part / static_cast<T>(scores.cols);
    for (int64_t c = 0; slopes && c < scores.cols; ++c) slopes[c] -= share;
    if (slopes) slopes[label] += part;
    return share * below;
  }
};

// Labels of B examples that each have any number of classes: example b has classes[offsets[b]] up to, and
// without, classes[offsets[b + 1]].
struct LabelSets {
  const uint32_t* offsets;  // [B + 1]
  const uint64_t* classes;

  constexpr bool contain(int64_t example, uint64_t label) const {
    for (uint32_t k = offsets[example]; k < offsets[example + 1]; ++k) {
      if (classes[k] == label) return true;
    }
    return false;
  }
};

// The sum over the classes of the logistic loss, with label 1 for the classes that the example has.  The losses
// of these count `positive` times.
template <class T>
struct LabelSetCostItems {
  Matrix<const T> scores;
  LabelSets labels;
  const float* weights;  // [B], or null: all are 1
  T positive;
  T* costs;
  Matrix<T> gradient;

  constexpr void operator()(int64_t b) const {
    const T weight = weights == nullptr ? T(1) : T(weights[b]);
    T sum = 0;
    for (int64_t c = 0; c < scores.cols; ++c) {
      const bool has = labels.contain(b, static_cast<uint64_t>(c));
      const T scale = has ? positive : T(1);
      T slope = 0;
      sum += scale * LogisticLoss()(scores.data[b * scores.cols + c], has ? T(1) : T(0), slope);
      if (gradient.data != nullptr) gradient.data[b * gradient.cols + c] = weight * scale * slope;
    }
    costs[b] = weight * sum;
  }
};

// Copies the value of each example's label.
template <class T>
struct LabelValueItems {
  Matrix<const T> values;
  const float* labels;
  T* out;

  constexpr void operator()(int64_t b) const {
    out[b] = values.data[b * values.cols + static_cast<int64_t>(labels[b])];
  }
};

template <class T>
struct ProbabilityCostItems {
  Matrix<const T> probabilities;
  CostTargets targets;
  T* costs;
  Matrix<T> gradient;

  constexpr void operator()(int64_t b) const {
    constexpr T kSmallest = T(1e-20);  // keeps the gradient of an impossible class within float
    const int64_t label = static_cast<int64_t>(targets.labels[b]);
    const T weight = targets.weight(b);
    const T probability = std::max(probabilities.data[b * probabilities.cols + label], kSmallest);
    if (gradient.data != nullptr) {
      T* slopes = gradient.data + b * gradient.cols;
      for (int64_t c = 0; c < gradient.cols; ++c) slopes[c] = T(0);
      slopes[label] = -weight / probability;
    }
    costs[b] = -weight * std::log(probability);
  }
};

template <class T>
struct SumCostItems {
  Matrix<const T> values;
  CostTargets targets;
  T* costs;
  Matrix<T> gradient;

  constexpr void operator()(int64_t b) const {
    const T weight = targets.weight(b);
    T sum = 0;
    for (int64_t c = 0; c < values.cols; ++c) sum += values.data[b * values.cols + c];
    costs[b] = weight * sum;
    for (int64_t c = 0; gradient.data != nullptr && c < values.cols; ++c)
      gradient.data[b * gradient.cols + c] = weight;
  }
};

template <class T>
struct PredictionItems {
  const T* output;
  float* predictions;

  constexpr void operator()(int64_t i) const { predictions[i] = static_cast<float>(output[i]); }
};

template <class T>
struct LogisticPredictionItems {
  const T* output;
  float* predictions;

  constexpr void operator()(int64_t i) const { predictions[i] = static_cast<float>(logistic(output[i])); }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_COST_ITEMS_H_
