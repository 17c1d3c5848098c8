// 0/1 labels with a known probability.  Used by sparse-binary, ctr and criteo.
#ifndef PS_DATA_SYNTH_LOGISTIC_LABEL_H_
#define PS_DATA_SYNTH_LOGISTIC_LABEL_H_

#include <vector>

#include "data/synth/example_random.h"

namespace ps {

// P(label = 1) = 1 / (1 + exp(-(offset + scale x score))), where score is the sum of an example's true
// weights.
class LogisticLabel {
 public:
  // Examples that are drawn to estimate mean and deviation of the score.  Their positive rate is exact; the
  // rate of the data then differs from it by about 0.002.
  static constexpr int kCalibrationExamples = 8192;

  // Chooses scale and offset so that the logits of `scores` have deviation `logit_deviation` (2 gives an AUC
  // of about 0.87) and their mean probability is `positive_rate`, in (0, 1).
  static LogisticLabel calibrate(const std::vector<double>& scores, double logit_deviation,
                                 double positive_rate);

  double probability(double score) const;

  // Draws the label of one example.
  float draw(double probability, ExampleRandom& random) const {
    return random.uniform() < probability ? 1.0f : 0.0f;
  }

 private:
  double scale_ = 1, offset_ = 0;
};

// Mean and standard deviation.
struct Moments {
  double mean, deviation;
};
Moments moments(const std::vector<double>& values);

}  // namespace ps

#endif  // PS_DATA_SYNTH_LOGISTIC_LABEL_H_
