#include <algorithm>
#include <cmath>

#include "model/costs/cost_entry.h"
#include "model/labels.h"

namespace ps {

namespace {

constexpr int64_t kBlock = 16;  // examples

// -log p of the label's class, with p = softmax(scores) when the input's activation is softmax, else p =
// scores.
template <class T>
class CrossEntropy final : public Cost<T> {
 public:
  CrossEntropy(const CostOptions&, const CostInput& input)
      : softmax_(input.activation == "softmax"), classes_(input.cols) {
    if (input.cols < 2) {
      fail(Code::kUsage, "cross_entropy takes a value for each of two or more classes, found ", input.cols,
           " (binary_cross_entropy takes one)");
    }
    if (input.cols > kMaxClasses) fail(Code::kUsage, "cross_entropy takes at most ", kMaxClasses, " classes");
  }

  void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                Matrix<T> gradient) const override {
    check_classes(batch.labels, scores.cols);
    if (!softmax_) check_probabilities(scores, batch);
    device.for_each(scores.rows, kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        int64_t label = static_cast<int64_t>(batch.labels[static_cast<size_t>(b)]);
        T* slopes = gradient ? gradient.row(b) : nullptr;
        costs[static_cast<size_t>(b)] =
            softmax_ ? of_logits(scores.row(b), scores.cols, label, T(batch.weight(b)), slopes)
                     : of_probabilities(scores.row(b), scores.cols, label, T(batch.weight(b)), slopes);
      }
    });
  }

  void check_label(float label) const override { check_class(label, classes_); }

  void predict(Matrix<const T> output, std::span<float> predictions) const override {
    copy_predictions(output, predictions);
  }

  bool takes_logits() const override { return softmax_; }

 private:
  // log(sum of e^s) - s[label], with the largest s taken out of the sum.
  static T of_logits(const T* scores, int64_t classes, int64_t label, T weight, T* slopes) {
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

  static T of_probabilities(const T* scores, int64_t classes, int64_t label, T weight, T* slopes) {
    constexpr T kSmallest = T(1e-20);  // keeps the gradient of an impossible class within float
    T probability = std::max(scores[label], kSmallest);
    if (slopes) {
      std::fill_n(slopes, classes, T(0));
      slopes[label] = -weight / probability;
    }
    return -weight * std::log(probability);
  }

  // Reports, at the first batch, a job whose author forgot the softmax.
  static void check_probabilities(Matrix<const T> scores, const Batch& batch) {
    constexpr T kRounding = T(1e-3);
    for (int64_t b = 0; b < scores.rows; ++b) {
      T value = scores.row(b)[static_cast<int64_t>(batch.labels[static_cast<size_t>(b)])];
      if (value >= -kRounding && value <= 1 + kRounding) continue;
      fail(Code::kUsage, "cross_entropy: ", value, " for example ", b,
           " is not a probability (give the input layer the activation 'softmax')");
    }
  }

  const bool softmax_;
  const int64_t classes_;
};

}  // namespace

extern const CostEntry kCrossEntropyCost = cost_entry<CostOptions, CrossEntropy>(
    "cross_entropy", "-log of the probability of the label's class; exact together with a softmax input");

}  // namespace ps
