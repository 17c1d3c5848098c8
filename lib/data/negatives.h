// NegativeFilter: keeps a random part of the negative examples, which have label 0 or -1, for training, with
// larger weights.  Used by the parsers.
//
// A negative is kept with probability r and gets 1 / r times its weight.  This does not change the expected sum
// of weighted costs: McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013, section 4.6.
// So a model of probabilities predicts those of all data.  Without the weights it would predict those of the
// sample, p, and each prediction would have to be moved to p / (p + (1 - p) / r): He et al., "Practical lessons
// from predicting clicks on ads at Facebook", ADKDD 2014, section 6.3; every user of the model would have to
// know r.
#ifndef PS_DATA_NEGATIVES_H_
#define PS_DATA_NEGATIVES_H_

#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "data/batch.h"
#include "data/options.h"

namespace ps {

// Seed, bytes of an example and its position in the file decide.  So equal lines are drawn independently, and
// every trainer and pass draws the same.  Constant after construction; any thread may use it.
class NegativeFilter {
 public:
  explicit NegativeFilter(const DataOptions& options)
      : on_(options.samples_negatives()),
        bound_(on_ ? static_cast<uint64_t>(options.negative_rate * 0x1p64) : 0),
        seed_(hash_key(options.sampling_seed ^ kUse)),
        factor_(static_cast<float>(1 / options.negative_rate)) {}

  bool on() const { return on_; }

  // Decides about the example that was appended last, which has its label.  Returns false if it must be
  // dropped; else it has its weight now.  `number` is the number of its line.
  bool keeps_last(std::string_view line, uint64_t number, Batch& batch) const {
    if (batch.labels.back() > 0) return true;
    if (hash_bytes(line, hash_key(seed_ + number)) >= bound_) return false;
    batch.weights.resize(batch.labels.size(), 1.0f);
    batch.weights.back() *= factor_;
    return true;
  }

  // Must be called when all examples of a block are appended: gives those behind the last negative their
  // weights.
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
