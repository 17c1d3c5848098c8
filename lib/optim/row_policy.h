// RowPolicy: which keys of a sparse table get a row, and which rows go again.  A layer's "weight" says it, in
// "rows"; the tables follow it.
//
// Time is counted in shrinks: the moments at which all rows are judged.
#ifndef PS_OPTIM_ROW_POLICY_H_
#define PS_OPTIM_ROW_POLICY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "config/fwd.h"

namespace ps {

// When a key gets a row.  Until then it reads as zero, and its gradients are dropped.
struct Admission {
  std::optional<int64_t> count;       // once it has occurred so often
  std::optional<double> probability;  // each occurrence gives it one with this probability
  int64_t max_waiting = 1 << 24;      // keys without a row whose occurrences are counted

  static const ObjectSpec<Admission>& spec();
};

// What a row is worth: its coefficients of clicks, and of shows without a click.
struct RowScore {
  double non_click = 0.1, click = 1;

  static const ObjectSpec<RowScore>& spec();
};

// Which rows a shrink removes.
struct Expiry {
  std::optional<int64_t> unseen;      // those that more shrinks than this have passed since their last step
  std::optional<double> below_score;  // those worth less

  static const ObjectSpec<Expiry>& spec();
};

// What a row remembers of its key: occurrences in examples, in those with a positive label, both decayed, and
// the shrinks since the last of them.  Doubles, since floats stop counting at 2^24.
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
  int64_t shrink_passes = 1, shrink_steps = 0;  // between two shrinks; 0: none for that reason
  int64_t limit = 0;                            // rows of the table, on all servers together; 0: none
  std::string when_full = "refuse";             // refuse | evict

  static const ObjectSpec<RowPolicy>& spec();

  bool evicts() const { return when_full == "evict"; }
  double score_of(const RowHistory& row) const {
    return score.non_click * (row.shows - row.clicks) + score.click * row.clicks;
  }

  // One shrink.
  RowHistory aged(const RowHistory& row) const {
    return {row.shows * decay, row.clicks * decay, std::min(row.unseen + 1, RowHistory::kMostUnseen)};
  }

  // Whether a row goes, after aging.  One that training has never seen, as those that come from a model, has
  // no score to be judged by.
  bool expires(const RowHistory& row) const {
    if (expire.unseen && static_cast<int64_t>(row.unseen) > *expire.unseen) return true;
    return expire.below_score && row.shows > 0 && score_of(row) < *expire.below_score;
  }

  bool shrinks_after_pass(int64_t pass) const { return shrink_passes > 0 && (pass + 1) % shrink_passes == 0; }
  bool shrinks_after_step(int64_t steps) const { return shrink_steps > 0 && steps % shrink_steps == 0; }
};

// What came of the policy of a table, or of a part of it.
struct RowReport {
  uint64_t rows = 0, waiting = 0;     // at present: rows; keys without one that are counted
  uint64_t created = 0, expired = 0;  // since the table was made, as are the others
  uint64_t evicted = 0;
  uint64_t refused = 0;  // times that a new row was refused for want of room, and its gradient dropped

  bool operator==(const RowReport&) const = default;

  // All figures, in the order above: the report of a whole is the sum of those of its parts.
  std::array<uint64_t*, 6> figures() { return {&rows, &waiting, &created, &expired, &evicted, &refused}; }
  void add(RowReport other) {
    for (size_t i = 0; i < figures().size(); ++i) *figures()[i] += *other.figures()[i];
  }

  static const ObjectSpec<RowReport>& spec();
};

}  // namespace ps

#endif  // PS_OPTIM_ROW_POLICY_H_
