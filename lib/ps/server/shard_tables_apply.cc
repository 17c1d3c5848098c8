// Gradients and values that trainers give, into a shard's tables.
#include <algorithm>
#include <array>
#include <optional>

#include "ps/server/shard_tables_state.h"

namespace ps {

namespace {

// Whether every key is larger than those of the contributions before.
bool ascending(std::span<const Contribution> contributions) {
  std::optional<uint64_t> last;
  for (const Contribution& contribution : contributions) {
    const std::vector<uint64_t>& keys = contribution.part->keys;
    if (keys.empty()) continue;
    if (last && keys.front() <= *last) return false;
    last = keys.back();
  }
  return true;
}

bool knows_places(const Contribution& each) {
  return each.part->places.size() == each.part->keys.size();
}

}  // namespace

void ShardTables::apply(size_t parameter, std::span<const Contribution> contributions, const StepSize& step) {
  Holder& holder = holders_[parameter];
  if (!holder.sparse && !holder.dense) return;
  if (holder.spec->kind == ParameterKind::kRows) return apply_rows(holder, contributions, step);
  if (holder.spec->kind == ParameterKind::kMatrix) return apply_matrix(holder, contributions, step);
  apply_statistic(holder, contributions);
}

ExactSquares ShardTables::squares(size_t parameter, std::span<const Contribution> contributions) {
  Holder& holder = holders_[parameter];
  ExactSquares sum;
  const int64_t cols = holder.spec->cols;
  if ((!holder.sparse && !holder.dense) || contributions.empty()) return sum;
  if (holder.spec->kind == ParameterKind::kRows) {
    gather_rows(holder, contributions);
    for (const auto& piece : pieces_) sum.add(piece.gradients, std::ssize(piece.keys) * cols);
  } else if (holder.spec->kind == ParameterKind::kMatrix) {
    sum.add(matrix_gradient(holder, contributions), holder.dense->rows() * cols);
  }
  return sum;
}

// Whether no two have the same key, as the pieces of one trainer's push; a policy needs them in one.
bool ShardTables::lie_apart(const Holder& holder, std::span<const Contribution> contributions) const {
  if (contributions.size() == 1) return true;
  return !(holder.sparse && holder.sparse->has_policy()) && ascending(contributions);
}

// plan_ <- the keys of the contributions, pieces_ <- theirs, without rows: gradients that lie apart, where
// they came, or the sums of all.
void ShardTables::gather_rows(Holder& holder, std::span<const Contribution> contributions) {
  pieces_.clear();
  if (!lie_apart(holder, contributions)) {
    const float* sums = sum_rows(holder, contributions);
    pieces_.push_back({plan_.keys, {}, sums});
    return;
  }
  plan_.keys.clear();
  plan_.counts.clear();
  for (const Contribution& contribution : contributions) {
    const RowSlice& part = *contribution.part;
    plan_.keys.insert(plan_.keys.end(), part.keys.begin(), part.keys.end());
    plan_.counts.insert(plan_.counts.end(), part.counts.begin(), part.counts.end());
    pieces_.push_back({part.keys, {}, contribution.floats});
  }
}

const float* ShardTables::matrix_gradient(Holder& holder, std::span<const Contribution> contributions) {
  bool whole = contributions.size() == 1 &&
               contributions[0].part->count == static_cast<uint64_t>(holder.dense->rows());
  return whole ? contributions[0].floats : sum_ranges(holder, contributions);
}

void ShardTables::apply_rows(Holder& holder, std::span<const Contribution> contributions,
                             const StepSize& step) {
  if (holder.sparse) {
    apply_sparse(holder, contributions, step);
    return holder.sparse->end_step(step.shrink, pool_);
  }
  gather_rows(holder, contributions);
  const float* gradients = pieces_.size() == 1 ? pieces_[0].gradients : sum_rows(holder, contributions);
  for (uint64_t& key : plan_.keys) key = static_cast<uint64_t>(holder.deal.local(static_cast<int64_t>(key)));
  holder.dense->push_rows(plan_, gradients, step.scale, step.learning_rate, pool_);
}

void ShardTables::apply_sparse(Holder& holder, std::span<const Contribution> contributions,
                               const StepSize& step) {
  SparseTable& table = *holder.sparse;
  if (table.rows_stay() && lie_apart(holder, contributions)) {
    use_rows_in_place(holder, contributions);
    return table.push(pieces_, step.scale, step.learning_rate, pool_);
  }
  gather_rows(holder, contributions);
  find_rows(holder, contributions);
  if (pieces_.size() == 1) {
    return table.push(plan_, rows_, pieces_[0].gradients, step.scale, step.learning_rate, pool_);
  }
  size_t begin = 0;
  for (auto& piece : pieces_) {
    piece.rows = std::span(rows_).subspan(begin, piece.keys.size());
    begin += piece.keys.size();
  }
  table.push(pieces_, step.scale, step.learning_rate, pool_);
}

// pieces_ <- the contributions, with their rows up to date.  What was pulled is still where it was then, and
// as it was, unless a step has come between.
void ShardTables::use_rows_in_place(Holder& holder, std::span<const Contribution> contributions) {
  SparseTable& table = *holder.sparse;
  size_t num_unknown = 0;
  for (const Contribution& each : contributions)
    num_unknown += knows_places(each) ? 0 : each.part->keys.size();
  rows_.resize(num_unknown);
  pieces_.clear();
  std::span<float*> unknown(rows_);
  for (const Contribution& each : contributions) {
    const RowSlice& part = *each.part;
    std::span<float* const> rows = part.places;
    if (!knows_places(each)) {
      rows = unknown.first(part.keys.size());
      table.pull(part.keys, pool_, unknown.first(part.keys.size()));
      unknown = unknown.subspan(part.keys.size());
    } else if (part.places_step != table.optimizer().steps()) {
      table.bring_up_to_date(part.keys, rows, pool_);
    }
    pieces_.push_back({part.keys, rows, each.floats});
  }
}

// rows_ <- those of plan_, which gather_rows has made, up to date.
void ShardTables::find_rows(Holder& holder, std::span<const Contribution> contributions) {
  const bool summed = pieces_.size() < contributions.size();
  if (!summed || !std::ranges::all_of(contributions, knows_places)) {
    return holder.sparse->pull(plan_, pool_, rows_);
  }
  rows_.resize(plan_.keys.size());
  for (size_t c = 0; c < contributions.size(); ++c) {
    const Places& places = contributions[c].part->places;
    for (size_t i = 0; i < places.size(); ++i) rows_[plan_.uses[c].index[i]] = places[i];
  }
  auto is_of_this_step = [&](const Contribution& each) {
    return each.part->places_step == holder.sparse->optimizer().steps();
  };
  if (std::ranges::all_of(contributions, is_of_this_step)) return;
  holder.sparse->bring_up_to_date(plan_.keys, rows_, pool_);
}

// plan_ <- the union of the keys; returns the sums of their gradients.  Who comes first to a key sets its
// row, the others add.
const float* ShardTables::sum_rows(Holder& holder, std::span<const Contribution> contributions) {
  const size_t cols = static_cast<size_t>(holder.spec->cols);
  std::vector<std::array<uint32_t, 2>> offsets(contributions.size());
  std::vector<KeyList> lists;
  for (size_t c = 0; c < contributions.size(); ++c) {
    const std::vector<uint64_t>& keys = contributions[c].part->keys;
    offsets[c] = {0, static_cast<uint32_t>(keys.size())};
    lists.push_back({offsets[c], keys});
  }
  planner_.plan(lists, plan_);
  sum_counts(contributions);
  sums_.resize(plan_.keys.size() * cols);
  size_t num_seen = 0;  // keys are numbered in the order in which they come
  for (size_t c = 0; c < contributions.size(); ++c) {
    const float* from = contributions[c].floats;
    for (uint32_t index : plan_.uses[c].index) {
      float* to = sums_.data() + index * cols;
      if (index == num_seen) {
        std::copy_n(from, cols, to);
        ++num_seen;
      } else {
        for (size_t j = 0; j < cols; ++j) to[j] += from[j];
      }
      from += cols;
    }
  }
  return sums_.data();
}

// plan_.counts <- the sums of what the contributions count.
void ShardTables::sum_counts(std::span<const Contribution> contributions) {
  plan_.counts.clear();
  for (size_t c = 0; c < contributions.size(); ++c) {
    const std::vector<KeyCount>& counts = contributions[c].part->counts;
    if (!counts.empty()) plan_.counts.resize(plan_.keys.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      KeyCount& sum = plan_.counts[plan_.uses[c].index[i]];
      sum.shows += counts[i].shows;
      sum.clicks += counts[i].clicks;
    }
  }
}

void ShardTables::apply_matrix(Holder& holder, std::span<const Contribution> contributions,
                               const StepSize& step) {
  holder.dense->push(matrix_gradient(holder, contributions), step.scale, step.learning_rate, pool_);
}

// The sums of what the trainers gave, in pieces.  The first trainer sets, the others add.
const float* ShardTables::sum_ranges(Holder& holder, std::span<const Contribution> contributions) {
  const int64_t cols = holder.spec->cols;
  sums_.assign(static_cast<size_t>(holder.dense->rows() * cols), 0.0f);
  for (const Contribution& contribution : contributions) {
    float* to = sums_.data() + static_cast<int64_t>(contribution.part->first) * cols;
    const int64_t count = static_cast<int64_t>(contribution.part->count) * cols;
    if (contribution.trainer == contributions[0].trainer) {
      std::copy_n(contribution.floats, count, to);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] += contribution.floats[i];
    }
  }
  return sums_.data();
}

// Each trainer's values have the weight of its examples; of one alone, they are taken as they are.
void ShardTables::apply_statistic(Holder& holder, std::span<const Contribution> contributions) {
  const int64_t cols = holder.spec->cols;
  for (const Contribution& contribution : contributions) {
    float* to = holder.dense->values() + static_cast<int64_t>(contribution.part->first) * cols;
    const int64_t count = static_cast<int64_t>(contribution.part->count) * cols;
    const float share = contribution.share;
    if (share == 1) {
      std::copy_n(contribution.floats, count, to);
    } else if (contribution.trainer == contributions[0].trainer) {
      for (int64_t i = 0; i < count; ++i) to[i] = share * contribution.floats[i];
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] += share * contribution.floats[i];
    }
  }
}

}  // namespace ps
