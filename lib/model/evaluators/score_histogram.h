// ScoreHistogram: how much positive and negative weight each score has, and the area under the ROC curve that
// follows.  Used by auc.
//
// Exact, and independent of the order of the examples, up to kMaxScores distinct scores.  Beyond, neighbours
// are put together, the lightest first, so that the area stays within 1e-4 for any distribution and number of
// examples: what is put together is at most 8 / kMaxScores of all positives and negatives, an example's score
// moves only when it joins something heavier, so at most log2 times that, and moves up and down cancel.
#ifndef PS_MODEL_EVALUATORS_SCORE_HISTOGRAM_H_
#define PS_MODEL_EVALUATORS_SCORE_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace ps {

// One owner thread.  At most (kMaxScores + kPending) x 24 + kPending x 32 bytes: 32 MiB.
class ScoreHistogram {
 public:
  static constexpr size_t kMaxScores = size_t{1} << 20;

  explicit ScoreHistogram(size_t max_scores = kMaxScores) : max_scores_(max_scores) {}

  // NaN counts as lower than every number.  Examples without a positive, finite weight are left out.
  void add(float score, bool positive, float weight);
  void merge(const ScoreHistogram& other);
  void clear();

  // The probability that a positive example scores higher than a negative one, ties counting half, each drawn
  // by weight.  NaN when there are none of a class.
  double area() const;

  // count:u64, then count x { key:u32 positive:f64 negative:f64 } by ascending key.
  void save(std::string& out) const;
  void load(ByteReader& in);  // throws kCorrupt

 private:
  static constexpr size_t kPending = size_t{1}
                                     << 17;  // sorting them costs what merging them into the rest does

  // Weights of a score; keys have the order of the scores.
  struct Entry {
    uint32_t key;
    double positive, negative;
  };
  struct Pending {
    uint32_t key;
    float weight;  // negative for negative examples
  };
  struct Totals {
    double positive, negative;
  };

  void compact() const;
  void absorb(std::span<const Entry> sorted) const;
  void coarsen() const;
  Totals totals() const;

  const size_t max_scores_;

  // The same information in two forms: what was added last is in pending_, until compact() moves it.
  mutable std::vector<Entry> entries_;  // by ascending key
  mutable std::vector<Pending> pending_;
};

}  // namespace ps

#endif  // PS_MODEL_EVALUATORS_SCORE_HISTOGRAM_H_
