// RowPolicy: decides which keys of a sparse table get a row, and which rows are removed.  The key "rows" of a
// layer's "weight" sets it; sparse tables apply it.
//
// At a shrink, counts decay and the expired rows are removed; RowPolicyState decides which shrinks also age
// rows.
#ifndef PS_OPTIM_ROW_POLICY_H_
#define PS_OPTIM_ROW_POLICY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "config/fwd.h"

namespace ps {

// The condition on which a key gets a row.  Until then it reads as zero, and its gradients are dropped.
struct Admission {
  std::optional<int64_t> count;       // admitted when it has occurred this often
  std::optional<double> probability;  // each occurrence admits it with this probability
  int64_t max_waiting = 1 << 24;      // the largest number of keys without a row that are counted

  static const ObjectSpec<Admission>& spec();
};

// The score of a row: the coefficients of clicks, and of shows without a click.
struct RowScore {
  double non_click = 0.1, click = 1;

  static const ObjectSpec<RowScore>& spec();
};

// The condition on which a shrink removes a row.
struct Expiry {
  std::optional<int64_t> unseen;      // it has sat out more intervals between shrinks than this
  std::optional<double> below_score;  // its score is lower than this

  static const ObjectSpec<Expiry>& spec();
};

// The history of a row's key: its decayed number of occurrences in all examples and in positive examples, and
// the number of shrinks that aged it since the last occurrence.  Doubles: floats cannot count beyond 2^24.
struct RowHistory {
  static constexpr uint32_t kMostUnseen = 1 << 24;  // counting stops there

  double shows = 0, clicks = 0;
  uint32_t unseen = 0;

  bool operator==(const RowHistory&) const = default;
};

struct RowPolicy {
  std::optional<Admission> admission;
  RowScore score;
  double decay = 0.98;
  Expiry expire;
  int64_t shrink_passes = 1, shrink_steps = 0;  // distance between two shrinks; 0: none for that reason
  int64_t limit = 0;                 // the largest number of rows, on all servers together; 0: no limit
  std::string when_full = "refuse";  // refuse | evict

  static const ObjectSpec<RowPolicy>& spec();

  bool evicts() const { return when_full == "evict"; }
  double score_of(const RowHistory& row) const {
    return score.non_click * (row.shows - row.clicks) + score.click * row.clicks;
  }

  // Returns the history after one shrink that ages rows.
  RowHistory aged(const RowHistory& row) const {
    return {row.shows * decay, row.clicks * decay, std::min(row.unseen + 1, RowHistory::kMostUnseen)};
  }

  // Returns true if a row with these counts, after the shrink, and this age before it, has expired.  A row
  // that never occurred in training, such as one loaded from a model, is not judged by its score.
  bool expires(const RowHistory& row) const {
    if (expire.unseen && static_cast<int64_t>(row.unseen) > *expire.unseen) return true;
    return expire.below_score && row.shows > 0 && score_of(row) < *expire.below_score;
  }

  bool shrinks_after_pass(int64_t pass) const { return shrink_passes > 0 && (pass + 1) % shrink_passes == 0; }
  bool shrinks_after_step(int64_t steps) const { return shrink_steps > 0 && steps % shrink_steps == 0; }
};

// Counts of the decisions of a table's policy, or of a part of the table.
struct RowReport {
  uint64_t rows = 0, waiting = 0;     // at present: rows, and keys without a row that are counted
  uint64_t created = 0, expired = 0;  // since the table was made, like the following counts
  uint64_t evicted = 0;
  uint64_t refused = 0;  // times that a full table refused a new row, and dropped its gradient

  bool operator==(const RowReport&) const = default;

  // Returns all figures, in the order above; the report of a whole is the sum of the reports of its parts.
  std::array<uint64_t*, 6> figures() { return {&rows, &waiting, &created, &expired, &evicted, &refused}; }
  void add(RowReport other) {
    for (size_t i = 0; i < figures().size(); ++i) *figures()[i] += *other.figures()[i];
  }

  static const ObjectSpec<RowReport>& spec();
};

}  // namespace ps

#endif  // PS_OPTIM_ROW_POLICY_H_
