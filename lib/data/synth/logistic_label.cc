#include "data/synth/logistic_label.h"

#include <cmath>

#include "base/error.h"

namespace ps {

Moments moments(const std::vector<double>& values) {
  double n = static_cast<double>(values.size()), sum = 0, squares = 0;
  for (double value : values) sum += value;
  for (double value : values) squares += (value - sum / n) * (value - sum / n);
  return {sum / n, std::sqrt(squares / n)};
}

double LogisticLabel::probability(double score) const {
  return 1 / (1 + std::exp(-(offset_ + scale_ * score)));
}

static double mean_probability(const LogisticLabel& label, const std::vector<double>& scores) {
  double sum = 0;
  for (double score : scores) sum += label.probability(score);
  return sum / static_cast<double>(scores.size());
}

LogisticLabel LogisticLabel::calibrate(const std::vector<double>& scores, double logit_deviation,
                                       double positive_rate) {
  PS_CHECK(!scores.empty() && positive_rate > 0 && positive_rate < 1);
  Moments score = moments(scores);
  LogisticLabel label;
  label.scale_ = score.deviation > 0 ? logit_deviation / score.deviation : 0;
  // The mean probability grows with the offset: bisection over logits of +-50 about the mean.  60 steps
  // shrink the interval of 100 to less than the precision of a double.
  double center = -label.scale_ * score.mean, low = center - 50, high = center + 50;
  for (int step = 0; step < 60; ++step) {
    label.offset_ = (low + high) / 2;
    (mean_probability(label, scores) < positive_rate ? low : high) = label.offset_;
  }
  return label;
}

}  // namespace ps
