// ScoreHistogram: the weights of positive and negative examples at each score, and the areas under the ROC curve and
// under the curve of precision over recall.  Used by auc and pr_auc.
//
// Exact, and independent of the order of the examples, up to kMaxScores distinct scores.  Beyond that,
// neighbouring scores are merged, the lightest first.  The error of the area stays below 1e-4 for any
// distribution and number of examples: a merged entry has at most 8 / kMaxScores of all positives and
// negatives, the score of an example changes only when it joins a heavier entry, so at most log2 times as
// much, and changes up and down cancel out.
#ifndef PS_MODEL_EVALUATORS_SCORE_HISTOGRAM_H_
#define PS_MODEL_EVALUATORS_SCORE_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "math/device_buffer.h"
#include "math/device_kernels.h"
#include "math/items/measure_items.h"

namespace ps {

// One owner thread.  At most (kMaxScores + kPending) x 24 + kPending x 32 bytes: 32 MiB; and
// on a device 8 x kMostThere bytes, or 8 for each example of a batch if these are more.
class ScoreHistogram {
 public:
  static constexpr size_t kMaxScores = size_t{1} << 20;

  explicit ScoreHistogram(size_t max_scores = kMaxScores) : max_scores_(max_scores) {}

  // NaN counts as lower than every number.  Examples whose weight is not positive and finite are ignored.
  void add(float score, bool positive, float weight);

  // Adds examples whose arrays are on a device with memory of its own.  Their scores stay there until there are many, or
  // until they are asked for.
  void add_there(Device& device, const MeasuredExamples& examples, int64_t size);
  void merge(const ScoreHistogram& other);
  void clear();

  // Returns the probability that a random positive example scores higher than a random negative one, both
  // drawn by weight, where ties count half.  NaN when a class has no examples.
  double area() const;

  // Returns the average precision: the sum, over the scores from the highest down, of the gain of recall x the
  // precision of all examples down to that score.  Examples of one score come together.  NaN without positive examples.
  double average_precision() const;

  // count:u64, then count x { key:u32 positive:f64 negative:f64 } by ascending key.
  void save(std::string& out) const;
  void load(ByteReader& in);  // throws kCorrupt

 private:
  static constexpr size_t kPending = size_t{1}
                                     << 17;  // sorting them costs what merging them into the rest does

  static constexpr int64_t kMostThere = 1 << 15;  // 256 KiB, which come back in some 10 us

  // The weights at a score; keys have the order of the scores.
  struct Entry {
    uint32_t key;
    double positive, negative;
  };
  struct Totals {
    double positive, negative;
  };

  void add(const WeightedScore& score) const;
  void bring_back() const;
  void compact() const;
  void compact_pending() const;
  void absorb(std::span<const Entry> sorted) const;
  void coarsen() const;
  Totals totals() const;

  const size_t max_scores_;

  // Weights are in one of three arrays: recently added examples are in pending_ until compact() moves them; those that were
  // added on a device are there until bring_back() adds them to pending_.
  mutable std::vector<Entry> entries_;  // by ascending key
  mutable std::vector<WeightedScore> pending_;
  DeviceBuffer<WeightedScore> there_;
  mutable std::shared_ptr<DeviceKernels> at_;  // the device of these; null: there are none
  mutable int64_t num_there_ = 0;
};

}  // namespace ps

#endif  // PS_MODEL_EVALUATORS_SCORE_HISTOGRAM_H_
