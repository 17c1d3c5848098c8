// TruthReport: the scores of the best possible model on the generated examples.  Used by ps-datagen --truth.
#ifndef PS_DATA_SYNTH_TRUTH_H_
#define PS_DATA_SYNTH_TRUTH_H_

#include <cstdint>
#include <vector>

#include "config/fwd.h"
#include "data/synth/generator.h"

namespace ps {

// Sums over samples, in the order given; bounded memory.  One owner thread.
class TruthReport {
 public:
  explicit TruthReport(TruthKind kind);

  void add(const Sample& sample);

  // Returns {"samples": …} and further keys by kind:
  //   kProbability  positive_rate, auc (to 1e-5), log_loss: of the true probabilities
  //   kMean         label_mean, label_deviation, rmse: of the true means
  //   kClass        accuracy: of a classifier that knows the law
  //   kLogLoss      words, perplexity: of the law, first words of sentences included
  Json json() const;

 private:
  void add_probability(float label, float probability);
  double auc() const;

  const TruthKind kind_;
  uint64_t samples_ = 0, words_ = 0;
  double label_sum_ = 0, label_squares_ = 0;
  double loss_ = 0;                              // log loss, squared error, or right answers
  std::vector<uint64_t> positives_, negatives_;  // histograms over the true probability
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_TRUTH_H_
