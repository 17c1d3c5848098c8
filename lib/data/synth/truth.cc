#include "data/synth/truth.h"

#include <algorithm>
#include <cmath>

#include "config/json.h"

namespace ps {

// Examples in the same bin count as ties: the error of the AUC is below 1e-5.
constexpr size_t kBins = size_t{1} << 18;

TruthReport::TruthReport(TruthKind kind) : kind_(kind) {
  if (kind != TruthKind::kProbability) return;
  positives_.resize(kBins);
  negatives_.resize(kBins);
}

void TruthReport::add_probability(float label, float probability) {
  size_t bin = std::min(kBins - 1, static_cast<size_t>(probability * static_cast<float>(kBins)));
  ++(label > 0 ? positives_ : negatives_)[bin];
  double likely = label > 0 ? double{probability} : 1.0 - double{probability};
  loss_ -= std::log(std::max(likely, 1e-30));
}

// loss_ sums a measure of each example that depends on the kind: minus the logarithm of its probability,
// the square of its error, 1 if the class is right, or minus the logarithm of the sentence's probability.
void TruthReport::add(const Sample& sample) {
  for (size_t b = 0; b < sample.truth.size(); ++b) {
    float label = sample.batch.labels[b], truth = sample.truth[b];
    label_sum_ += label;
    label_squares_ += double{label} * label;
    switch (kind_) {
      case TruthKind::kProbability:
        add_probability(label, truth);
        break;
      case TruthKind::kMean:
        loss_ += (double{label} - truth) * (double{label} - truth);
        break;
      case TruthKind::kClass:
        loss_ += label == truth;
        break;
      case TruthKind::kLogLoss:
        loss_ += truth;
        break;
    }
  }
  samples_ += sample.truth.size();
  if (kind_ == TruthKind::kLogLoss) words_ += sample.batch.slots[0].keys.size();
}

// Returns the share of pairs (positive, negative) in which the positive one has the higher probability; ties
// count half.
double TruthReport::auc() const {
  double wins = 0, below = 0, positives = 0;
  for (size_t bin = 0; bin < kBins; ++bin) {
    double up = static_cast<double>(positives_[bin]), down = static_cast<double>(negatives_[bin]);
    wins += up * (below + down / 2);
    below += down;
    positives += up;
  }
  return wins / (positives * below);
}

Json TruthReport::json() const {
  Json out = {{"samples", samples_}};
  if (samples_ == 0) return out;
  double n = static_cast<double>(samples_), mean = label_sum_ / n;
  switch (kind_) {
    case TruthKind::kProbability:
      out["positive_rate"] = mean;
      if (mean > 0 && mean < 1) out["auc"] = auc();
      out["log_loss"] = loss_ / n;
      break;
    case TruthKind::kMean:
      out["label_mean"] = mean;
      out["label_deviation"] = std::sqrt(std::max(0.0, label_squares_ / n - mean * mean));
      out["rmse"] = std::sqrt(loss_ / n);
      break;
    case TruthKind::kClass:
      out["accuracy"] = loss_ / n;
      break;
    case TruthKind::kLogLoss:
      out["words"] = words_;
      if (words_ > 0) out["perplexity"] = std::exp(loss_ / static_cast<double>(words_));
      break;
  }
  return out;
}

}  // namespace ps
