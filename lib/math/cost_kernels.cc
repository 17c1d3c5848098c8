#include "math/cost_kernels.h"

#include <algorithm>
#include <cmath>

#include "math/blocks.h"
#include "math/stable.h"

namespace ps {

namespace {

constexpr int64_t kLossWork = 1024;     // operations, with room: blocks of 1024 examples
constexpr int64_t kClassExamples = 16;  // of a block, where an example has many values

// Calls body(b) for every example b, in blocks.
template <class Body>
void for_class_examples(Device& device, int64_t examples, const Body& body) {
  device.for_each(examples, kClassExamples, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) body(b);
  });
}

// log(sum of e^s) - s[label], with the largest s taken out of the sum.
template <class T>
T softmax_cost(const T* scores, int64_t classes, int64_t label, T weight, T* slopes) {
  T largest = *std::max_element(scores, scores + classes), sum = 0;
  for (int64_t c = 0; c < classes; ++c) {
    T power = std::exp(scores[c] - largest);
    sum += power;
    if (slopes) slopes[c] = power;
  }
  if (slopes) {
    for (int64_t c = 0; c < classes; ++c) slopes[c] *= weight / sum;
    slopes[label] -= weight;
  }
  return weight * (std::log(sum) + (largest - scores[label]));
}

template <class T>
T probability_cost(const T* probabilities, int64_t classes, int64_t label, T weight, T* slopes) {
  constexpr T kSmallest = T(1e-20);  // keeps the gradient of an impossible class within float
  const T probability = std::max(probabilities[label], kSmallest);
  if (slopes) {
    std::fill_n(slopes, classes, T(0));
    slopes[label] = -weight / probability;
  }
  return -weight * std::log(probability);
}

// Computes the cost of the example at one position of groups.order, over all its pairs.  Every example goes
// through its own pairs, so that each sum has one writer and one order.
template <class T>
void rank_example(const RankingGroups& groups, int64_t position, const T* scores, const CostTargets& targets,
                  T* costs, T* gradient) {
  const auto weight = [&](size_t of) { return T(targets.weight(static_cast<int64_t>(of))); };
  const size_t example = groups.order[position];
  T cost = 0, slope = 0;
  for (size_t p = groups.begins[position]; p < groups.ends[position]; ++p) {
    const size_t other = groups.order[p];
    if (targets.labels[example] > targets.labels[other]) {
      const T behind = scores[other] - scores[example];
      cost += log1p_exp(behind);
      slope -= weight(example) * logistic(behind);
    } else if (targets.labels[example] < targets.labels[other]) {
      slope += weight(other) * logistic(scores[example] - scores[other]);
    }
  }
  costs[example] = weight(example) * cost;
  if (gradient) gradient[example] = slope;
}

}  // namespace

template <class T, class Loss>
void evaluate_losses(Device& device, const Loss& loss, Matrix<const T> values, const CostTargets& targets,
                     T* costs, T* gradient) {
  for_items(device, values.rows, kLossWork, [=](int64_t b) {
    const T weight = targets.weight(b);
    T slope = 0;
    costs[b] = weight * loss(values.data[b], T(targets.labels[b]), slope);
    if (gradient) gradient[b] = weight * slope;
  });
}

template <class T>
void softmax_cross_entropy(Device& device, Matrix<const T> scores, const CostTargets& targets, T* costs,
                           Matrix<T> gradient) {
  for_class_examples(device, scores.rows, [=](int64_t b) {
    costs[b] = softmax_cost(scores.row(b), scores.cols, static_cast<int64_t>(targets.labels[b]),
                            T(targets.weight(b)), gradient ? gradient.row(b) : nullptr);
  });
}

template <class T>
void cross_entropy(Device& device, Matrix<const T> probabilities, const CostTargets& targets, T* costs,
                   Matrix<T> gradient) {
  for_class_examples(device, probabilities.rows, [=](int64_t b) {
    costs[b] =
        probability_cost(probabilities.row(b), probabilities.cols, static_cast<int64_t>(targets.labels[b]),
                         T(targets.weight(b)), gradient ? gradient.row(b) : nullptr);
  });
}

template <class T>
int64_t find_improbable(Device& device, Matrix<const T> probabilities, const CostTargets& targets) {
  constexpr T kRounding = T(1e-3);
  int64_t found = -1;
  device.run(1, [&](int64_t) {
    for (int64_t b = 0; b < probabilities.rows && found < 0; ++b) {
      const T value = probabilities.row(b)[static_cast<int64_t>(targets.labels[b])];
      if (!(value >= -kRounding && value <= 1 + kRounding)) found = b;
    }
  });
  return found;
}

template <class T>
void sum_costs(Device& device, Matrix<const T> values, const CostTargets& targets, T* costs,
               Matrix<T> gradient) {
  for_items(device, values.rows, values.cols, [=](int64_t b) {
    T weight = targets.weight(b), sum = 0;
    for (int64_t c = 0; c < values.cols; ++c) sum += values.row(b)[c];
    costs[b] = weight * sum;
    if (gradient) std::fill_n(gradient.row(b), values.cols, weight);
  });
}

template <class T>
void ranking_costs(Device& device, const RankingGroups& groups, Matrix<const T> scores,
                   const CostTargets& targets, T* costs, T* gradient) {
  for_class_examples(device, scores.rows, [=](int64_t position) {
    rank_example(groups, position, scores.data, targets, costs, gradient);
  });
}

template <class T>
void copy_predictions(Device& device, Matrix<const T> output, float* predictions) {
  for_items(device, output.size(), 1,
            [=](int64_t i) { predictions[i] = static_cast<float>(output.data[i]); });
}

template <class T>
void logistic_predictions(Device& device, Matrix<const T> output, float* predictions) {
  for_items(device, output.size(), kLossWork,
            [=](int64_t i) { predictions[i] = static_cast<float>(logistic(output.data[i])); });
}

template <class T>
double total_cost(Device& device, const T* costs, int64_t size) {
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
  PS_INSTANTIATE_LOSS(T, SquaredLoss)                                                                      \
  PS_INSTANTIATE_LOSS(T, AbsoluteLoss)                                                                     \
  PS_INSTANTIATE_LOSS(T, HuberLoss)                                                                        \
  template void softmax_cross_entropy(Device&, Matrix<const T>, const CostTargets&, T*, Matrix<T>);        \
  template void cross_entropy(Device&, Matrix<const T>, const CostTargets&, T*, Matrix<T>);                \
  template int64_t find_improbable(Device&, Matrix<const T>, const CostTargets&);                          \
  template void sum_costs(Device&, Matrix<const T>, const CostTargets&, T*, Matrix<T>);                    \
  template void ranking_costs(Device&, const RankingGroups&, Matrix<const T>, const CostTargets&, T*, T*); \
  template void copy_predictions(Device&, Matrix<const T>, float*);                                        \
  template void logistic_predictions(Device&, Matrix<const T>, float*);                                    \
  template double total_cost(Device&, const T*, int64_t);
PS_INSTANTIATE(float)
PS_INSTANTIATE(double)
#undef PS_INSTANTIATE
#undef PS_INSTANTIATE_LOSS

}  // namespace ps
