// The items of evaluators (model/evaluators): an example, which adds to a few of an evaluator's sums, and a sum.  The
// processor and devices with memory of their own both compile them (math/device_kernels.h), so that an evaluator is
// written once.  The terms of a sum are added in the order of the examples on both.
#ifndef PS_MATH_ITEMS_MEASURE_ITEMS_H_
#define PS_MATH_ITEMS_MEASURE_ITEMS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "math/compensated_sum.h"
#include "math/items/cost_items.h"

namespace ps {

// Returns the class in [0, classes) of a label, or -1; NaN is no class.
constexpr int64_t label_class(float label, int64_t classes) {
  if (!(label >= 0 && label < static_cast<float>(classes))) return -1;
  const int64_t index = static_cast<int64_t>(label);
  return static_cast<float>(index) == label ? index : -1;
}

// Returns the class of the largest of C predictions, the first one in case of a tie; -1 when a prediction is NaN.
constexpr int64_t largest_prediction(const float* prediction, int64_t classes) {
  int64_t best = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (prediction[c] != prediction[c]) return -1;
    if (prediction[c] > prediction[best]) best = c;
  }
  return best;
}

// B examples with their predictions [rows, stride], of which an evaluator reads the first C columns.  Example b has row
// rows[b], or row b if `rows` is null; weights null means that all are 1.  Where sets.offsets is not null, an example has
// the labels of its set instead of labels[b].
struct MeasuredExamples {
  const float* predictions;
  int64_t cols, stride;
  const float *labels, *weights;  // [B]
  const int64_t* rows = nullptr;  // [B]
  LabelSets sets = {nullptr, nullptr};

  constexpr int64_t row(int64_t b) const { return rows == nullptr ? b : rows[b]; }
  constexpr const float* prediction(int64_t b) const { return predictions + row(b) * stride; }
  constexpr double weight(int64_t b) const {
    return weights == nullptr ? 1.0 : static_cast<double>(weights[b]);
  }
  constexpr bool is_positive(int64_t b) const { return labels[b] > 0; }

  // Returns true if class c is a label of the example.
  constexpr bool has_label(int64_t b, int64_t c) const {
    return sets.offsets == nullptr ? label_class(labels[b], cols) == c
                                   : sets.contain(b, static_cast<uint64_t>(c));
  }
  // Calls see(label) for each distinct label of the example.
  template <class See>
  constexpr void for_each_label(int64_t b, const See& see) const {
    if (sets.offsets == nullptr) {
      if (const int64_t label = label_class(labels[b], cols); label >= 0) see(static_cast<uint64_t>(label));
      return;
    }
    const uint32_t begin = sets.offsets[b];
    for (uint32_t k = begin; k < sets.offsets[b + 1]; ++k) {
      bool is_new = true;
      for (uint32_t before = begin; before < k; ++before)
        is_new = is_new && sets.classes[before] != sets.classes[k];
      if (is_new) see(sets.classes[k]);
    }
  }
};

// An example adds `value` to a sum `times` times; to none if `sum` is -1.
struct MeasureTerm {
  int32_t sum = -1, times = 1;
  double value = 0;
};

constexpr MeasureTerm add_to_sum(int64_t sum, double value, int64_t times = 1) {
  return {static_cast<int32_t>(sum), static_cast<int32_t>(times), value};
}

// A rule fills in the kMost terms of an example.  Their sums have an order in which term i goes to the sums
// [i * width, (i + 1) * width), the last one to all that follow too; width is what the evaluator says.

// Sum 0 is that of weight x term, sum 1 that of the weights.  A term may be NaN or infinite: one of weight 0 is left out,
// since 0 times it would be NaN.
template <class Term>
struct MeanRule {
  static constexpr int kMost = 2;
  Term term;

  constexpr void operator()(const MeasuredExamples& examples, int64_t b, MeasureTerm* out) const {
    const double weight = examples.weight(b);
    out[0] = weight != 0 ? add_to_sum(0, weight * term(examples, b)) : MeasureTerm();
    out[1] = add_to_sum(1, weight);
  }
};

// Gives 1 for an example whose decision is right, or, if `wrong`, for one whose decision is not.  The largest prediction
// has to be that of the label's class; a single one has to be on the label's side of the threshold.  A NaN is wrong.
struct DecisionTerm {
  double threshold;
  bool wrong;

  constexpr double operator()(const MeasuredExamples& examples, int64_t b) const {
    return is_right(examples, b) != wrong ? 1 : 0;
  }

 private:
  constexpr bool is_right(const MeasuredExamples& examples, int64_t b) const {
    const float* const prediction = examples.prediction(b);
    if (examples.cols == 1) {
      return prediction[0] == prediction[0] &&
             (static_cast<double>(prediction[0]) > threshold) == examples.is_positive(b);
    }
    const int64_t predicted = largest_prediction(prediction, examples.cols);
    return predicted >= 0 && predicted == label_class(examples.labels[b], examples.cols);
  }
};

// -log of the probability of the label's class, which is kept within [1e-15, 1 - 1e-15], so that one impossible event does
// not make the mean infinite.
struct LogLossTerm {
  constexpr double operator()(const MeasuredExamples& examples, int64_t b) const {
    constexpr double kSmallest = 1e-15;
    return -std::log(std::clamp(probability(examples, b), kSmallest, 1 - kSmallest));
  }

 private:
  constexpr double probability(const MeasuredExamples& examples, int64_t b) const {
    const float* const prediction = examples.prediction(b);
    if (examples.cols == 1) {
      const double positive = prediction[0];
      return examples.is_positive(b) ? positive : 1 - positive;
    }
    const int64_t index = label_class(examples.labels[b], examples.cols);
    return index < 0 ? 0 : static_cast<double>(prediction[index]);
  }
};

// A value of each row, computed before.
struct GivenTerm {
  const float* values;  // [rows]

  constexpr double operator()(const MeasuredExamples& examples, int64_t b) const {
    return values[examples.row(b)];
  }
};

struct SquaredErrorTerm {
  constexpr double operator()(const MeasuredExamples& examples, int64_t b) const {
    const double residual =
        static_cast<double>(examples.prediction(b)[0]) - static_cast<double>(examples.labels[b]);
    return residual * residual;
  }
};

struct AbsoluteErrorTerm {
  constexpr double operator()(const MeasuredExamples& examples, int64_t b) const {
    return std::abs(static_cast<double>(examples.prediction(b)[0]) - static_cast<double>(examples.labels[b]));
  }
};

// Brier, "Verification of forecasts expressed in terms of probability", 1950.  For two classes this is the squared
// error of the probability of class 1, as most programs have it: half of Brier's sum over both.
struct BrierTerm {
  constexpr double operator()(const MeasuredExamples& examples, int64_t b) const {
    const float* const prediction = examples.prediction(b);
    if (examples.cols <= 2) return squared_error(prediction[examples.cols - 1], examples.is_positive(b));
    const int64_t right = label_class(examples.labels[b], examples.cols);
    double sum = 0;
    for (int64_t c = 0; c < examples.cols; ++c) sum += squared_error(prediction[c], c == right);
    return sum;
  }

 private:
  static constexpr double squared_error(float probability, bool happened) {
    const double error = static_cast<double>(probability) - (happened ? 1 : 0);
    return error * error;
  }
};

struct PredictionSumTerm {
  constexpr double operator()(const MeasuredExamples& examples, int64_t b) const {
    const float* const prediction = examples.prediction(b);
    double sum = 0;
    for (int64_t c = 0; c < examples.cols; ++c) sum += static_cast<double>(prediction[c]);
    return sum;
  }
};

// [3, buckets] sums: of weights, of weight x probability of class 1, of the weights of class 1.  A bucket is one of the
// equal parts of [0, 1].  NaN falls into the first one, and makes its sum NaN.
struct CalibrationRule {
  static constexpr int kMost = 3;
  int64_t buckets;

  constexpr void operator()(const MeasuredExamples& examples, int64_t b, MeasureTerm* out) const {
    for (int i = 0; i < kMost; ++i) out[i] = {};
    const double weight = examples.weight(b);
    if (weight == 0) return;
    const double probability = examples.prediction(b)[examples.cols - 1];
    const int64_t bucket = index(probability);
    out[0] = add_to_sum(bucket, weight);
    out[1] = add_to_sum(buckets + bucket, weight * probability);
    if (examples.is_positive(b)) out[2] = add_to_sum(2 * buckets + bucket, weight);
  }

 private:
  constexpr int64_t index(double probability) const {
    const double count = static_cast<double>(buckets);
    const double at = std::floor(probability * count);
    return at > 0 ? static_cast<int64_t>(std::min(at, count - 1)) : 0;
  }
};

// [3, classes] sums of weights: of the true positives, false positives and false negatives of a class.  With one or two
// predictions an example, `classes` is 1, and the only or the second prediction is compared with the threshold.
struct PrecisionRecallRule {
  static constexpr int kMost = 3;
  double threshold;
  int64_t classes;

  constexpr void operator()(const MeasuredExamples& examples, int64_t b, MeasureTerm* out) const {
    for (int i = 0; i < kMost; ++i) out[i] = {};
    const double weight = examples.weight(b);
    if (weight == 0) return;
    const float* const prediction = examples.prediction(b);
    int64_t label = examples.is_positive(b) ? 0 : -1;
    int64_t predicted = static_cast<double>(prediction[examples.cols - 1]) > threshold ? 0 : -1;
    if (classes > 1) {
      label = label_class(examples.labels[b], examples.cols);
      predicted = largest_prediction(prediction, examples.cols);
    }
    if (predicted >= 0 && predicted == label) {
      out[0] = add_to_sum(label, weight);
      return;
    }
    if (predicted >= 0) out[1] = add_to_sum(classes + predicted, weight);
    if (label >= 0) out[2] = add_to_sum(2 * classes + label, weight);
  }
};

// Sum 0 is that of all weights, and the others are [label, predicted] those of the examples of a cell.  Examples with a NaN
// prediction or a label that is no class are in no cell.  With two classes, the label -1 names class 0 too.
struct ConfusionRule {
  static constexpr int kMost = 2;
  double threshold;
  int64_t classes;

  constexpr void operator()(const MeasuredExamples& examples, int64_t b, MeasureTerm* out) const {
    out[0] = out[1] = {};
    const double weight = examples.weight(b);
    if (weight == 0) return;
    out[0] = add_to_sum(0, weight);
    const float own = examples.labels[b];
    const int64_t label = classes == 2 && own == -1 ? 0 : label_class(own, classes);
    const int64_t predicted = decide(examples.prediction(b), examples.cols);
    if (label >= 0 && predicted >= 0) out[1] = add_to_sum(1 + label * classes + predicted, weight);
  }

 private:
  constexpr int64_t decide(const float* prediction, int64_t cols) const {
    if (cols > 1) return largest_prediction(prediction, cols);
    if (prediction[0] != prediction[0]) return -1;
    return static_cast<double>(prediction[0]) > threshold ? 1 : 0;
  }
};

// Sum 0 is that of weight x the share of labels among the k classes of the largest predictions, sum 1 that of the weights.
// Among equal predictions the first class comes first; a NaN comes last.
struct LargestRule {
  static constexpr int kMost = 2;
  int64_t k;

  constexpr void operator()(const MeasuredExamples& examples, int64_t b, MeasureTerm* out) const {
    out[0] = out[1] = {};
    const double weight = examples.weight(b);
    if (weight == 0) return;
    const float* const prediction = examples.prediction(b);
    int64_t hits = 0;
    examples.for_each_label(b, [&](uint64_t label) {
      if (label < static_cast<uint64_t>(examples.cols) && is_among_first(prediction, examples.cols, label))
        ++hits;
    });
    out[0] = add_to_sum(0, weight * static_cast<double>(hits) / static_cast<double>(k));
    out[1] = add_to_sum(1, weight);
  }

 private:
  constexpr bool is_among_first(const float* prediction, int64_t cols, uint64_t label) const {
    const int64_t own = static_cast<int64_t>(label);
    int64_t before = 0;
    for (int64_t c = 0; c < cols && before < k; ++c) {
      if (comes_before(prediction[c], prediction[own]) ||
          (c < own && !comes_before(prediction[own], prediction[c])))
        ++before;
    }
    return before < k;
  }
  // Minus infinity is equal to NaN.
  static constexpr bool comes_before(float a, float b) { return b == b ? a > b : a > -INFINITY; }
};

// Sums of weights over all pairs of an example and a class: 0 of those that are decided for and labels, 1 of those that are
// decided for, since the prediction is above the threshold, 2 of those that are labels.
struct PairCountRule {
  static constexpr int kMost = 3;
  double threshold;

  constexpr void operator()(const MeasuredExamples& examples, int64_t b, MeasureTerm* out) const {
    for (int i = 0; i < kMost; ++i) out[i] = {};
    const double weight = examples.weight(b);
    if (weight == 0) return;
    const float* const prediction = examples.prediction(b);
    int64_t found = 0, decided = 0, there = 0;
    for (int64_t c = 0; c < examples.cols; ++c) {
      if (!(static_cast<double>(prediction[c]) > threshold)) continue;
      ++decided;
      if (examples.has_label(b, c)) ++found;
    }
    examples.for_each_label(b, [&](uint64_t) { ++there; });
    out[0] = add_to_sum(0, weight, found);
    out[1] = add_to_sum(1, weight, decided);
    out[2] = add_to_sum(2, weight * static_cast<double>(there));
  }
};

// Item b is an example.
//   terms [kMost, B]
template <class Rule>
struct MeasureItems {
  Rule rule;
  MeasuredExamples examples;
  int64_t size;  // B
  MeasureTerm* terms;

  constexpr void operator()(int64_t b) const {
    MeasureTerm own[Rule::kMost];
    rule(examples, b, own);
    for (int i = 0; i < Rule::kMost; ++i) terms[i * size + b] = own[i];
  }
};

// Item s is a sum, which takes in the terms [B] of one column of `most`, in order.
struct AddMeasureTermItems {
  const MeasureTerm* terms;
  int64_t size, most, width;
  CompensatedSum* sums;

  constexpr const MeasureTerm* column(int64_t s) const {
    return terms + std::min(s / width, most - 1) * size;
  }

  constexpr void operator()(int64_t s) const {
    const MeasureTerm* const given = column(s);
    CompensatedSum sum = sums[s];
    for (int64_t b = 0; b < size; ++b) {
      const MeasureTerm own = given[b];
      if (own.sum != s) continue;
      for (int32_t time = 0; time < own.times; ++time) sum.add(own.value);
    }
    sums[s] = sum;
  }
};

// The score of an example as an integer of the same order, and the example's weight: below 0 for a negative example,
// 0 for one that does not count.
struct WeightedScore {
  uint32_t key;
  float weight;
};

// Maps a score to an integer of the same order; equal scores (0 and -0, all NaN) have the same integer.  The bits of positive
// floats have their order as integers, and get the top bit; negative ones have the reverse order, and are inverted.  A NaN
// gets 0, below all.
constexpr uint32_t score_key(float score) {
  if (score != score) return 0;
  const uint32_t bits = std::bit_cast<uint32_t>(score == 0 ? 0.0f : score);
  constexpr uint32_t kTop = 0x80000000;
  return bits & kTop ? ~bits : bits | kTop;
}

// A weight that is not positive and finite does not count.
constexpr WeightedScore weighted_score(float score, bool positive, float weight) {
  if (!(weight > 0) || weight == INFINITY) return {0, 0};
  return {score_key(score), positive ? weight : -weight};
}

// The last prediction is the score.
struct WeightedScoreItems {
  MeasuredExamples examples;
  WeightedScore* scores;  // [B]

  constexpr void operator()(int64_t b) const {
    const float weight = examples.weights == nullptr ? 1.0f : examples.weights[b];
    scores[b] = weighted_score(examples.prediction(b)[examples.cols - 1], examples.is_positive(b), weight);
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_MEASURE_ITEMS_H_
