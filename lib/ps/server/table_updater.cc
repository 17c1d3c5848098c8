#include "ps/server/table_updater.h"

#include <algorithm>
#include <array>
#include <optional>

#include "table/row_policy_state.h"

namespace ps {

namespace {

// True when every key is larger than those of the contributions before.
bool ascending(std::span<const Contribution> contributions) {
  std::optional<uint64_t> last;
  for (const Contribution& contribution : contributions) {
    const std::vector<uint64_t>& keys = contribution.slice->keys;
    if (keys.empty()) continue;
    if (last && keys.front() <= *last) return false;
    last = keys.back();
  }
  return true;
}

bool knows_rows(const Contribution& each) {
  return each.pulled != nullptr && each.pulled->rows.size() == each.slice->keys.size();
}

}  // namespace

void TableUpdater::apply(size_t parameter, std::span<const Contribution> contributions,
                         const StepSize& step) {
  Table* table = tables_.table(parameter);
  if (table == nullptr) return;
  const ParameterKind kind = tables_.spec(parameter).kind;
  if (tables_.spec(parameter).by_trainers) {
    if (Optimizer<float>* optimizer = table->optimizer()) optimizer->begin_step(step.learning_rate);
    return;
  }
  if (kind == ParameterKind::kRows) return apply_rows(*table, contributions, step);
  if (kind == ParameterKind::kStatistic) return apply_statistic(*table, contributions);
  const float* gradient = matrix_gradient(*table, contributions);
  table->whole()->push_all(gradient, step.scale, step.learning_rate, device_);
}

ExactSquares TableUpdater::squares(size_t parameter, std::span<const Contribution> contributions) {
  const Table* table = tables_.table(parameter);
  ExactSquares sum;
  if (table == nullptr || contributions.empty()) return sum;
  const int64_t cols = table->width();
  const ParameterKind kind = tables_.spec(parameter).kind;
  if (kind == ParameterKind::kRows) {
    gather_rows(*table, contributions);
    for (const KeyedGradients& some : gradients_) sum.add(some.gradients, std::ssize(some.keys) * cols);
  } else if (kind == ParameterKind::kMatrix) {
    sum.add(matrix_gradient(*table, contributions), static_cast<int64_t>(table->size()) * cols);
  }
  return sum;
}

// True when no two contributions have the same key, as the slices of one trainer's push.  A policy needs all
// keys in one some.
bool TableUpdater::lie_apart(const Table& table, std::span<const Contribution> contributions) const {
  if (contributions.size() == 1) return true;
  return table.policy() == nullptr && ascending(contributions);
}

// plan_ <- the keys of the contributions, gradients_ <- theirs, without rows: gradients that lie apart, where
// they came, or the sums of all.
void TableUpdater::gather_rows(const Table& table, std::span<const Contribution> contributions) {
  gradients_.clear();
  if (!lie_apart(table, contributions)) {
    const float* sums = sum_rows(table, contributions);
    gradients_.push_back({plan_.keys, {}, sums});
    return;
  }
  plan_.keys.clear();
  plan_.counts.clear();
  for (const Contribution& contribution : contributions) {
    const RowSlice& slice = *contribution.slice;
    plan_.keys.insert(plan_.keys.end(), slice.keys.begin(), slice.keys.end());
    plan_.counts.insert(plan_.counts.end(), slice.counts.begin(), slice.counts.end());
    gradients_.push_back({slice.keys, {}, contribution.floats});
  }
}

const float* TableUpdater::matrix_gradient(const Table& table, std::span<const Contribution> contributions) {
  const bool whole = contributions.size() == 1 && contributions[0].slice->count == table.size();
  return whole ? contributions[0].floats : sum_ranges(table, contributions);
}

void TableUpdater::apply_rows(Table& table, std::span<const Contribution> contributions,
                              const StepSize& step) {
  push_rows(table, contributions, step);
  if (table.policy() != nullptr) table.policy()->end_step(step.shrink, device_);
}

void TableUpdater::push_rows(Table& table, std::span<const Contribution> contributions,
                             const StepSize& step) {
  if (table.rows_stay() && lie_apart(table, contributions)) {
    use_rows_in_place(table, contributions);
    return table.push(gradients_, step.scale, step.learning_rate, device_);
  }
  gather_rows(table, contributions);
  find_rows(table, contributions);
  if (gradients_.size() == 1) {
    return table.push(plan_, rows_, gradients_[0].gradients, step.scale, step.learning_rate, device_);
  }
  size_t begin = 0;
  for (KeyedGradients& some : gradients_) {
    some.rows = std::span(rows_).subspan(begin, some.keys.size());
    begin += some.keys.size();
  }
  table.push(gradients_, step.scale, step.learning_rate, device_);
}

// gradients_ <- the contributions, with their rows up to date.  A row that was pulled is still where it was then,
// and as it was, unless a step has come between.
void TableUpdater::use_rows_in_place(Table& table, std::span<const Contribution> contributions) {
  size_t num_unknown = 0;
  for (const Contribution& each : contributions)
    num_unknown += knows_rows(each) ? 0 : each.slice->keys.size();
  rows_.resize(num_unknown);
  gradients_.clear();
  std::span<float*> unknown(rows_);
  for (const Contribution& each : contributions) {
    const std::vector<uint64_t>& keys = each.slice->keys;
    std::span<float* const> rows;
    if (!knows_rows(each)) {
      rows = unknown.first(keys.size());
      table.pull(keys, device_, unknown.first(keys.size()));
      unknown = unknown.subspan(keys.size());
    } else {
      rows = each.pulled->rows;
      if (each.pulled->step != table.optimizer()->steps()) table.bring_up_to_date(keys, rows, device_);
    }
    gradients_.push_back({keys, rows, each.floats});
  }
}

// rows_ <- those of plan_, which gather_rows has made, up to date.
void TableUpdater::find_rows(Table& table, std::span<const Contribution> contributions) {
  const bool summed = gradients_.size() < contributions.size();
  if (!summed || !std::ranges::all_of(contributions, knows_rows)) return table.pull(plan_, device_, rows_);
  rows_.resize(plan_.keys.size());
  for (size_t c = 0; c < contributions.size(); ++c) {
    const std::vector<float*>& rows = contributions[c].pulled->rows;
    for (size_t i = 0; i < rows.size(); ++i) rows_[plan_.uses[c].index[i]] = rows[i];
  }
  auto is_of_this_step = [&](const Contribution& each) {
    return each.pulled->step == table.optimizer()->steps();
  };
  if (std::ranges::all_of(contributions, is_of_this_step)) return;
  table.bring_up_to_date(plan_.keys, rows_, device_);
}

// sums_ <- sums that no order of the runs changes.  for_each_run(run) calls run(first, values) for each run of values, of
// sums [first, first + values.size()).
template <class ForEachRun>
const float* TableUpdater::sum_free_of_order(ForEachRun&& for_each_run) {
  order_free_.begin(sums_.size());
  for_each_run([this](size_t first, std::span<const float> values) { order_free_.show(first, values); });
  for_each_run([this](size_t first, std::span<const float> values) { order_free_.add(first, values); });
  order_free_.finish(sums_);
  return sums_.data();
}

// plan_ <- the union of the keys; returns the sums of their gradients.  The first contribution with a key sets
// its row, the others add.
const float* TableUpdater::sum_rows(const Table& table, std::span<const Contribution> contributions) {
  const size_t cols = static_cast<size_t>(table.width());
  std::vector<std::array<uint32_t, 2>> offsets(contributions.size());
  std::vector<KeyList> lists;
  for (size_t c = 0; c < contributions.size(); ++c) {
    const std::vector<uint64_t>& keys = contributions[c].slice->keys;
    offsets[c] = {0, static_cast<uint32_t>(keys.size())};
    lists.push_back({offsets[c], keys});
  }
  planner_.plan(lists, plan_);
  sum_counts(contributions);
  sums_.resize(plan_.keys.size() * cols);
  if (any_order_) {
    return sum_free_of_order([&](auto&& run) {
      for (size_t c = 0; c < contributions.size(); ++c) {
        const float* from = contributions[c].floats;
        for (uint32_t index : plan_.uses[c].index) run(index * cols, std::span(from, cols)), from += cols;
      }
    });
  }
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

// plan_.counts <- the sums of the contributions' counts.
void TableUpdater::sum_counts(std::span<const Contribution> contributions) {
  plan_.counts.clear();
  for (size_t c = 0; c < contributions.size(); ++c) {
    const std::vector<KeyCount>& counts = contributions[c].slice->counts;
    if (!counts.empty()) plan_.counts.resize(plan_.keys.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      KeyCount& sum = plan_.counts[plan_.uses[c].index[i]];
      sum.shows += counts[i].shows;
      sum.clicks += counts[i].clicks;
    }
  }
}

// Returns the sums of the trainers' gradients, which come in slices.  The first trainer sets, the others add.
const float* TableUpdater::sum_ranges(const Table& table, std::span<const Contribution> contributions) {
  const int64_t cols = table.width();
  sums_.assign(static_cast<size_t>(table.size()) * static_cast<size_t>(cols), 0.0f);
  if (any_order_) {
    return sum_free_of_order([&](auto&& run) {
      for (const Contribution& each : contributions) {
        const size_t width = static_cast<size_t>(cols);
        run(each.slice->first * width, std::span(each.floats, each.slice->count * width));
      }
    });
  }
  for (const Contribution& contribution : contributions) {
    float* to = sums_.data() + static_cast<int64_t>(contribution.slice->first) * cols;
    const int64_t count = static_cast<int64_t>(contribution.slice->count) * cols;
    if (contribution.trainer == contributions[0].trainer) {
      std::copy_n(contribution.floats, count, to);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] += contribution.floats[i];
    }
  }
  return sums_.data();
}

// Each trainer's values have the weight of its examples; those of a lone trainer are taken as they are.
void TableUpdater::apply_statistic(Table& table, std::span<const Contribution> contributions) {
  const int64_t cols = table.width();
  for (const Contribution& contribution : contributions) {
    float* to = table.whole()->values() + static_cast<int64_t>(contribution.slice->first) * cols;
    const int64_t count = static_cast<int64_t>(contribution.slice->count) * cols;
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
