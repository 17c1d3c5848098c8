// NegativeFilter: a random part of the negative examples, those of label 0 or -1, is trained on, with larger weights.  Used
// by the parsers.
//
// To keep a negative with probability r, and to give it 1 / r times its weight, leaves the expected sum of weighted costs as
// it is: McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013, section 4.6.  So a model of
// probabilities predicts those of all data.  Without the weights it would predict those of the sample, p, and each
// prediction would have to be moved to p / (p + (1 - p) / r): He et al., "Practical lessons from predicting clicks on ads
// at Facebook", ADKDD 2014, section 6.3; then whatever predicts with a model has to know r.
#ifndef PS_DATA_NEGATIVES_H_
#define PS_DATA_NEGATIVES_H_

#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "data/batch.h"
#include "data/options.h"

namespace ps {

// The seed, the bytes of an example and its place in the file decide, so that equal lines are drawn one by one, and every
// trainer and pass draws the same.  Constant: any thread.
class NegativeFilter {
 public:
  explicit NegativeFilter(const DataOptions& options)
      : on_(options.samples_negatives()),
        bound_(on_ ? static_cast<uint64_t>(options.negative_rate * 0x1p64) : 0),
        seed_(hash_key(options.sampling_seed ^ kUse)),
        factor_(static_cast<float>(1 / options.negative_rate)) {}

  bool on() const { return on_; }

  // To be asked about the example that was appended last, and has its label.  False: it is to be dropped; else it has got
  // its weight.  `number` is the number of its line.
  bool keeps_last(std::string_view line, uint64_t number, Batch& batch) const {
    if (batch.labels.back() > 0) return true;
    if (hash_bytes(line, hash_key(seed_ + number)) >= bound_) return false;
    batch.weights.resize(batch.labels.size(), 1.0f);
    batch.weights.back() *= factor_;
    return true;
  }

  // To be called once all examples of a block are there: those behind the last negative have their weights too.
  static void end(Batch& batch) {
    if (!batch.weights.empty()) batch.weights.resize(batch.labels.size(), 1.0f);
  }

 private:
  static constexpr uint64_t kUse = 0x6e656761;  // no other use of the seed has it

  const bool on_;
  const uint64_t bound_, seed_;
  const float factor_;
};

}  // namespace ps

#endif  // PS_DATA_NEGATIVES_H_
