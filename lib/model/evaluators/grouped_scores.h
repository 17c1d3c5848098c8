// GroupedScores: the scores and labels of examples, group by group.  Used by evaluators of ranking.
//
// Exact, and independent of the order of the examples, up to kMaxExamples examples.  Beyond that the groups are
// sampled: those whose hash is in the first half of all hashes stay, then in the first quarter and so on, whole groups
// with all their examples.  The sample is the same however the examples were ordered and merged.
#ifndef PS_MODEL_EVALUATORS_GROUPED_SCORES_H_
#define PS_MODEL_EVALUATORS_GROUPED_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "data/batch.h"
#include "math/matrix.h"

namespace ps {

struct GroupedScore {
  uint64_t group;
  float score;   // never NaN
  float label;   // finite
  float weight;  // more than 0, and finite
};

// One owner thread.  At most 2 x kMaxExamples x 24 bytes, 48 MiB.
class GroupedScores {
 public:
  static constexpr size_t kMaxExamples = size_t{1} << 20;

  explicit GroupedScores(size_t max_examples = kMaxExamples) : max_examples_(max_examples) {}

  // Adds the last prediction of each example; a batch without groups is of group 0.  NaN counts as lower than every
  // number.  Examples whose weight is not positive and finite are left out.
  void add(Matrix<const float> predictions, const Batch& batch);
  void merge(const GroupedScores& other);
  void clear();

  // Calls visit(examples) for each group, by ascending group; its examples are sorted by descending score, and those
  // of one score by ascending label.
  void for_each_group(const std::function<void(std::span<const GroupedScore>)>& visit) const;

  // halvings:u32 count:u64, then count x { group:u64 score:f32 label:f32 weight:f32 }
  void save(std::string& out) const;
  void load(ByteReader& in);  // throws kCorrupt

 private:
  bool keeps(uint64_t group) const;
  void sample();

  const size_t max_examples_;
  uint32_t halvings_ = 0;  // groups are kept whose hash begins with so many zero bits; 64: none
  mutable std::vector<GroupedScore> examples_;  // in any order
};

}  // namespace ps

#endif  // PS_MODEL_EVALUATORS_GROUPED_SCORES_H_
