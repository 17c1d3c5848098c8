#include "job/row_choice.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "store/table_checkpoint.h"
#include "table/row_layout.h"

namespace ps {

namespace {

RowHistory history_of(const RowBlock& rows, size_t index) {
  return RowLayout::to_history(rows.statistics.data() + index * RowLayout::history_names().size());
}

// The scores of rows in an earlier checkpoint, decayed by the shrinks since then.  These are the scores that
// the rows would have now if no key had occurred since.  One owner thread.
class EarlierScores {
 public:
  EarlierScores(const CheckpointReader& since, const CheckpointReader& reader, const TableLayout& layout,
                const RowPolicy& policy)
      : policy_(policy),
        rows_(merged_rows_of(since, layout, nullptr)),
        stepper_(rows_.get()),
        decayed_(std::pow(policy.decay, shrinks_between(since, reader, layout.name))) {}

  // Returns the score of a key, or 0 if it had no row.  Keys must ascend.
  double score(uint64_t key) {
    while (stepper_.valid() && stepper_.key() < key) stepper_.advance();
    if (!stepper_.valid() || stepper_.key() != key) return 0;
    return decayed_ * policy_.score_of(history_of(stepper_.block(), stepper_.index()));
  }

 private:
  static double shrinks_between(const CheckpointReader& since, const CheckpointReader& reader,
                                const std::string& table) {
    const uint64_t first = shrinks_of(since, table), last = shrinks_of(reader, table);
    if (first <= last) return static_cast<double>(last - first);
    fail(Code::kUsage, quote(since.folder()), " is later than ", quote(reader.folder()),
         ": a delta is of what came since an earlier checkpoint");
  }

  const RowPolicy policy_;
  const std::unique_ptr<RowCursor> rows_;
  RowStepper stepper_;
  const double decayed_;
};

// A predicate that chooses the rows of a set by their scores.
class ByScore {
 public:
  ByScore(const RowChoice& choice, const CheckpointReader& reader, const TableLayout& layout,
          const RowPolicy& policy)
      : policy_(policy),
        base_threshold_(choice.base_threshold),
        delta_threshold_(choice.delta_threshold),
        max_unseen_(choice.max_unseen) {
    if (choice.set != RowSet::kDelta) return;
    const TableLayout* earlier = choice.since->table(layout.name);
    if (earlier == nullptr || *earlier != layout) {
      fail(Code::kUsage, quote(choice.since->folder()), " has not the same table ", quote(layout.name));
    }
    earlier_ = std::make_shared<EarlierScores>(*choice.since, reader, layout, policy);
  }

  bool operator()(const RowBlock& rows, size_t i) const {
    const RowHistory history = history_of(rows, i);
    const double score = policy_.score_of(history);
    if (score < base_threshold_ || history.unseen > max_unseen_) return false;
    return !earlier_ || std::max(0.0, score - earlier_->score(rows.keys[i])) >= delta_threshold_;
  }

 private:
  const RowPolicy policy_;
  const double base_threshold_, delta_threshold_, max_unseen_;
  std::shared_ptr<EarlierScores> earlier_;  // null: the set is kBase
};

bool has_key(const RowChoice& choice, uint64_t key) {
  if (key < choice.first_key || key > choice.last_key) return false;
  return !choice.keys || std::binary_search(choice.keys->begin(), choice.keys->end(), key);
}

}  // namespace

bool RowChoice::chooses(const TableLayout& layout) const {
  const bool all_keys = !keys && first_key == 0 && last_key == UINT64_MAX;
  return layout.sparse && (!all_keys || min_shows || set != RowSet::kAll);
}

// Returns null if all rows are chosen.  The cheap tests come first: the key, then the shows, then the
// score, for which a delta reads the earlier checkpoint in step with this one.
KeepRow chosen_rows(const RowChoice& choice, const CheckpointReader& reader, const TableLayout& layout,
                    const ParameterSpec& spec) {
  if (!choice.chooses(layout)) return nullptr;
  const bool has_histories = layout.statistics == RowLayout::history_names() && spec.row_policy;
  if (!has_histories && (choice.min_shows || choice.set != RowSet::kAll)) {
    fail(Code::kUsage, "table ", quote(layout.name),
         " does not count shows, so rows cannot be chosen by them");
  }
  KeepRow by_score;
  if (choice.set != RowSet::kAll) by_score = ByScore(choice, reader, layout, *spec.row_policy);
  return [choice, by_score](const RowBlock& rows, size_t i) {
    if (!has_key(choice, rows.keys[i])) return false;
    if (choice.min_shows && history_of(rows, i).shows < *choice.min_shows) return false;
    return !by_score || by_score(rows, i);
  };
}

std::unique_ptr<RowCursor> merged_rows_of(const CheckpointReader& reader, const TableLayout& layout,
                                          KeepRow keep) {
  const auto buffers = std::make_shared<ChunkBuffers>();
  std::vector<std::unique_ptr<RowCursor>> cursors;
  for (uint32_t partition : reader.partitions(layout.name)) {
    cursors.push_back(reader.rows(layout.name, partition, buffers));
  }
  return merged_partitions(layout, std::move(cursors), std::move(keep));
}

}  // namespace ps
