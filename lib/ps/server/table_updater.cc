// A call of apply works on one parameter.  begin sets the state that lasts from call to call, and go_on
// takes a way that depends on the kind of the parameter: apply_matrix updates ranges of values,
// apply_statistic sets a weighted mean, apply_dense_rows updates ranges of rows, those without a gradient
// too, and apply_rows updates slices of rows by keys.  A job that clips by norm has measure called before,
// which adds up the squares of the gradients that apply would push.
//
// Several members hold a position: rows_left_ has the rows that are in no slice yet, slices [num_pushed_,
// num_ready_) of ready_ wait for the table, and num_values_ counts the values that are done.  A call that
// has used up its work returns false, and the next call continues from these positions.
#include "ps/server/table_updater.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "math/device.h"
#include "table/dense_values.h"

namespace ps {

// If there is more to do, all of the work counts as used, so that the caller stops too.  Otherwise each row
// that was looked at counts kRowWork.
bool remove_rows(RowRemoval& removal, SliceWork& work, Device& device) {
  if (work.left == SliceWork::kUnlimited) return removal.finish(device), true;
  const uint64_t rows = work.rows(SliceWork::kRowWork);
  uint64_t left = rows;
  const bool more = removal.go_on(left, device);
  work.use(more ? work.left : (rows - left) * SliceWork::kRowWork);
  return !more;
}

// ---- from call to call

bool TableUpdater::apply(size_t parameter, std::span<const Contribution> contributions, const StepSize& step,
                         SliceWork& work) {
  Table* table = tables_.table(parameter);
  if (table == nullptr) return true;
  if (!begun_) begin(parameter, *table, contributions);
  if (!go_on(parameter, *table, contributions, step, work)) return false;
  begun_ = false;
  return true;
}

void TableUpdater::begin(size_t parameter, const Table& table, std::span<const Contribution> contributions) {
  begun_ = true;
  in_step_ = removes_ = false;
  num_ready_ = num_pushed_ = num_values_ = 0;
  if (table.optimizer() == nullptr) return;
  if (tables_.spec(parameter).kind != ParameterKind::kRows) return;
  rows_left_.begin(contributions, table.width());
  lie_apart_ = rows_left_.lie_apart();
}

bool TableUpdater::go_on(size_t parameter, Table& table, std::span<const Contribution> contributions,
                         const StepSize& step, SliceWork& work) {
  const ParameterSpec& spec = tables_.spec(parameter);
  if (spec.by_trainers) {
    if (Optimizer<float>* optimizer = table.optimizer()) optimizer->begin_step(step.learning_rate);
    return true;
  }
  if (spec.kind == ParameterKind::kMatrix) return apply_matrix(table, contributions, step, work);
  if (spec.kind == ParameterKind::kStatistic) return apply_statistic(table, contributions), true;
  if (table.whole() != nullptr) return apply_dense_rows(table, step, work);
  return apply_rows(table, step, work);
}

// Measures the same sums that apply pushes: those of ranges of a matrix, or of slices of rows.  Rows with
// which no other contribution has a key in common are measured where they lie.  The sum of squares is
// exact, so it does not depend on where slices end.
bool TableUpdater::measure(size_t parameter, std::span<const Contribution> contributions, ExactSquares& sum,
                           SliceWork& work) {
  const Table* table = tables_.table(parameter);
  if (table == nullptr || contributions.empty()) return true;
  const int64_t cols = table->width();
  const ParameterKind kind = tables_.spec(parameter).kind;
  if (!begun_) begin(parameter, *table, contributions);
  if (kind == ParameterKind::kMatrix) {
    auto add = [&sum](size_t, size_t count, const float* gradient) {
      sum.add(gradient, static_cast<int64_t>(count));
    };
    if (!for_ranges(*table, contributions, work, add)) return false;
  }
  while (kind == ParameterKind::kRows && !rows_left_.ended()) {
    if (work.used_up()) return false;
    find_next_slice(*table, work);
    if (!lie_apart_) {
      sum_rows(cols, sums_);
      sum.add(sums_.data(), std::ssize(sums_));
      continue;
    }
    for (const RowsOfOne& some : some_) sum.add(some.floats, std::ssize(some.keys) * cols);
  }
  begun_ = false;
  return true;
}

void TableUpdater::abandon() {
  begun_ = false;
}

TableUpdater::ReadySlice& TableUpdater::next_ready() {
  if (num_ready_ == ready_.size()) ready_.emplace_back();
  ReadySlice& slice = ready_[num_ready_++];
  slice.gradients.clear();
  return slice;
}

// some_ <- the next rows by keys, of as much work as is left.  Returns their number.
uint64_t TableUpdater::find_next_slice(const Table& table, SliceWork& work) {
  rows_left_.next(work.rows(work_of_row(table)), some_);
  uint64_t rows = 0;
  for (const RowsOfOne& some : some_) rows += some.keys.size();
  work.use(rows * work_of_row(table));
  return rows;
}

// ---- rows by keys, slice by slice

// Applies the step to rows by keys in three phases, each of which may take several calls.  First find_next_slice
// and find_rows put the gradients of all rows into slices.  Then begin_step begins the step, and push_slice
// passes the slices to the table.  With a policy, remove_rows then removes the rows that it gives up.
//
// Rows are found before begin_step, while all steps that have begun are over: idle steps then give the same
// bits as when the step is applied at once.  Where idle steps change nothing, and pointers do not last,
// rows are found when they are updated.
bool TableUpdater::apply_rows(Table& table, const StepSize& step, SliceWork& work) {
  if (removes_) return remove_rows(table.policy()->removal(), work, device_);
  RowPolicyState* const policy = table.policy();
  if (!in_step_ && policy != nullptr && rows_left_.ended() && num_ready_ == 0)
    use_held(*policy, table.width());
  const bool finds_late = table.optimizer()->idle_is_identity() && !table.rows_stay();
  while (!finds_late && !rows_left_.ended()) {
    if (work.used_up()) return false;
    find_next_slice(table, work);
    find_rows(table, next_ready());
  }
  if (!in_step_) table.begin_step(step.learning_rate);
  in_step_ = true;
  if (finds_late && !find_and_push(table, step, work)) return false;
  // Pointers to rows on disk are valid until the next pull, so they last only if one pull has found all
  // rows.
  const bool moved = table.spilled() && num_ready_ > 1;
  for (; num_pushed_ < num_ready_; ++num_pushed_) {
    if (work.used_up()) return false;
    push_slice(table, ready_[num_pushed_], step, moved, work);
  }
  if (policy == nullptr) return table.end_step(), true;
  policy->end_parts(step.shrink);
  removes_ = true;
  return remove_rows(policy->removal(), work, device_);
}

// Takes the keys that the policy holds for a step without any.
void TableUpdater::use_held(RowPolicyState& policy, int64_t cols) {
  KeyPlan held = policy.release_held();
  if (held.keys.empty()) return;
  held_ = RowSlice();
  held_.by_keys = true;
  held_.keys = std::move(held.keys);
  held_.counts = std::move(held.counts);
  const Contribution all{&held_, nullptr, 0, 1};
  rows_left_.begin({&all, 1}, cols);
  lie_apart_ = true;
}

// Finds and updates one slice after the other.  All of them use the memory of the first ReadySlice, so that
// the step needs no more than that of one slice.  At the end no slice is left for apply_rows to push.
bool TableUpdater::find_and_push(Table& table, const StepSize& step, SliceWork& work) {
  while (!rows_left_.ended()) {
    if (work.used_up()) return false;
    find_next_slice(table, work);
    num_ready_ = 0;
    ReadySlice& slice = next_ready();
    find_rows(table, slice);
    push_slice(table, slice, step, /*moved=*/false, work);
  }
  num_pushed_ = num_ready_;
  return true;
}

void TableUpdater::find_rows(Table& table, ReadySlice& slice) {
  if (table.policy() != nullptr) return use_counted_rows(table, slice);
  if (!lie_apart_) return use_sums(table, slice);
  table.rows_stay() ? use_rows_in_place(table, slice) : use_rows_of_one_pull(table, slice);
}

// Passes the slice to the table. `moved`: its rows were found by an earlier call, and may be elsewhere now.
void TableUpdater::push_slice(Table& table, ReadySlice& slice, const StepSize& step, bool moved,
                              SliceWork& work) {
  if (moved) table.find_again(slice.keys, device_, slice.rows);
  for (const KeyedGradients& some : slice.gradients) {
    work.use(some.keys.size() * work_of_row(table));
    if (table.policy() == nullptr) {
      table.push_part(some, step.scale, device_);
    } else {
      table.policy()->train_part({slice.keys, slice.counts, some.gradients}, slice.rows, step.scale, device_);
    }
  }
}

// Puts the gradients of some_ into the slice, with pointers to their rows, which are brought up to date.  A
// row that was pulled still has its address and its values, unless a step has come between.
void TableUpdater::use_rows_in_place(Table& table, ReadySlice& slice) {
  size_t num_unknown = 0;
  for (const RowsOfOne& each : some_) num_unknown += each.knows_rows() ? 0 : each.keys.size();
  slice.rows.resize(num_unknown);
  std::span<float*> unknown(slice.rows);
  for (const RowsOfOne& each : some_) {
    std::span<float* const> rows = each.rows;
    if (!each.knows_rows()) {
      rows = unknown.first(each.keys.size());
      table.pull(each.keys, device_, unknown.first(each.keys.size()));
      unknown = unknown.subspan(each.keys.size());
    } else if (each.pulled_step != table.optimizer()->steps()) {
      table.bring_up_to_date(each.keys, rows, device_);
    }
    slice.gradients.push_back({each.keys, rows, each.floats});
  }
}

// The same with one pull, whose pointers are valid until the next.
void TableUpdater::use_rows_of_one_pull(Table& table, ReadySlice& slice) {
  slice.keys.clear();
  for (const RowsOfOne& each : some_) slice.keys.insert(slice.keys.end(), each.keys.begin(), each.keys.end());
  slice.rows.resize(slice.keys.size());
  table.pull(slice.keys, device_, slice.rows);
  std::span<float* const> rows(slice.rows);
  for (const RowsOfOne& each : some_) {
    slice.gradients.push_back({each.keys, rows.first(each.keys.size()), each.floats});
    rows = rows.subspan(each.keys.size());
  }
}

// Puts the rows of a table with a policy into the slice, which also needs the counts of the keys.  Gradients of
// a single piece are used where they lie.
void TableUpdater::use_counted_rows(Table& table, ReadySlice& slice) {
  slice.keys.clear();
  slice.counts.clear();
  slice.sums.clear();
  const bool alone = lie_apart_ && some_.size() == 1;
  if (lie_apart_) {
    for (const RowsOfOne& each : some_) {
      slice.keys.insert(slice.keys.end(), each.keys.begin(), each.keys.end());
      slice.counts.insert(slice.counts.end(), each.counts.begin(), each.counts.end());
      const size_t floats = each.keys.size() * static_cast<size_t>(table.width());
      if (!alone) slice.sums.insert(slice.sums.end(), each.floats, each.floats + floats);
    }
  } else {
    sum_rows(table.width(), slice.sums);
    sum_counts();
    std::swap(slice.keys, plan_.keys);
    std::swap(slice.counts, plan_.counts);
  }
  slice.rows.resize(slice.keys.size());
  const float* gradients = alone ? some_[0].floats : slice.sums.data();
  table.policy()->find_part(slice.keys, gradients == nullptr, device_, slice.rows);
  slice.gradients.push_back({slice.keys, slice.rows, gradients});
}

// Puts the sums of the gradients of some_ into the slice, with pointers to their rows.  The slice takes the
// keys out of plan_, which the next slice overwrites.
void TableUpdater::use_sums(Table& table, ReadySlice& slice) {
  sum_rows(table.width(), slice.sums);
  find_summed_rows(table, slice.rows);
  std::swap(slice.keys, plan_.keys);
  slice.gradients.push_back({slice.keys, slice.rows, slice.sums.data()});
}

// rows <- the rows of plan_, which sum_rows has made, brought up to date.  If the pulls of all trainers
// have found their rows, the pointers only have to be put in the order of the plan; trainers that share a
// key give the same pointer.
void TableUpdater::find_summed_rows(Table& table, std::vector<float*>& rows) {
  if (!std::ranges::all_of(some_, &RowsOfOne::knows_rows)) return table.pull(plan_, device_, rows);
  rows.resize(plan_.keys.size());
  for (size_t c = 0; c < some_.size(); ++c) {
    const std::span<float* const> pulled = some_[c].rows;
    for (size_t i = 0; i < pulled.size(); ++i) rows[plan_.uses[c].index[i]] = pulled[i];
  }
  auto is_of_this_step = [&](const RowsOfOne& each) {
    return each.pulled_step == table.optimizer()->steps();
  };
  if (std::ranges::all_of(some_, is_of_this_step)) return;
  table.bring_up_to_date(plan_.keys, rows, device_);
}

// ---- sums

// sums <- sums that do not depend on the order of the runs. for_each_run(run) calls run(first, values) for
// each run of values, which are added to sums [first, first + values.size()).  It is called twice, since
// the largest addend of every sum must be known before the first is added.
template <class ForEachRun>
void TableUpdater::sum_free_of_order(std::vector<float>& sums, ForEachRun&& for_each_run) {
  order_free_.begin(sums.size());
  for_each_run([this](size_t first, std::span<const float> values) { order_free_.measure(first, values); });
  for_each_run([this](size_t first, std::span<const float> values) { order_free_.add(first, values); });
  order_free_.finish(sums);
}

// plan_ <- the union of the keys of some_; sums [plan_.keys, cols] <- the sums of their gradients.  Each
// contribution counts as a list of one example, so that plan_.uses[c].index tells for each of its rows, in
// order, the row of sums to which it is added.
void TableUpdater::sum_rows(int64_t width, std::vector<float>& sums) {
  const size_t cols = static_cast<size_t>(width);
  std::vector<std::array<uint32_t, 2>> offsets(some_.size());
  std::vector<KeyList> lists;
  for (size_t c = 0; c < some_.size(); ++c) {
    offsets[c] = {0, static_cast<uint32_t>(some_[c].keys.size())};
    lists.push_back({offsets[c], some_[c].keys});
  }
  planner_.plan(lists, plan_);
  sums.resize(plan_.keys.size() * cols);
  if (!any_order_) return add_in_order(cols, sums);
  sum_free_of_order(sums, [&](auto&& run) {
    for (size_t c = 0; c < some_.size(); ++c) {
      const float* from = some_[c].floats;
      for (uint32_t index : plan_.uses[c].index) run(index * cols, std::span(from, cols)), from += cols;
    }
  });
}

// Adds in the order of the contributions.  The first contribution with a key sets its row, the others add to
// it.
void TableUpdater::add_in_order(size_t cols, std::vector<float>& sums) {
  size_t num_seen = 0;  // keys are numbered in the order in which they come
  for (size_t c = 0; c < some_.size(); ++c) {
    const float* from = some_[c].floats;
    for (uint32_t index : plan_.uses[c].index) {
      float* to = sums.data() + index * cols;
      if (index == num_seen) {
        std::copy_n(from, cols, to);
        ++num_seen;
      } else {
        for (size_t j = 0; j < cols; ++j) to[j] += from[j];
      }
      from += cols;
    }
  }
}

// plan_.counts <- the sums of the counts of some_.
void TableUpdater::sum_counts() {
  plan_.counts.clear();
  for (size_t c = 0; c < some_.size(); ++c) {
    const std::span<const KeyCount> counts = some_[c].counts;
    if (!counts.empty()) plan_.counts.resize(plan_.keys.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      KeyCount& sum = plan_.counts[plan_.uses[c].index[i]];
      sum.shows += counts[i].shows;
      sum.clicks += counts[i].clicks;
    }
  }
}

// ---- tables that have all rows

// Rows by keys of a table that has all rows: every row makes a step, those without a gradient with zeros.
// Ranges of rows end where the blocks of DenseTable::push do.  Row numbers ascend with the keys, so the
// gradients of rows [first, last) are exactly those that rows_left_ has below the key of row `last`.
bool TableUpdater::apply_dense_rows(Table& table, const StepSize& step, SliceWork& work) {
  constexpr uint64_t kMostBlocks = 64;  // in a range
  const size_t cols = static_cast<size_t>(table.width()), num_rows = table.size();
  const size_t block = static_cast<size_t>(dense_rows_at_once(table.width()));
  if (!in_step_) table.begin_step(step.learning_rate);
  in_step_ = true;
  while (num_values_ < num_rows * cols) {
    if (work.used_up()) return false;
    const uint64_t blocks = std::clamp<uint64_t>(work.left / (block * cols), 1, kMostBlocks);
    const size_t first = num_values_ / cols, last = std::min(num_rows, first + blocks * block);
    const auto key_of = [&table](size_t row) {
      return static_cast<uint64_t>(table.deal()->global(static_cast<int64_t>(row)));
    };
    rows_left_.next_below(last < num_rows ? std::optional(key_of(last)) : std::nullopt, some_);
    const uint64_t touched = spread_rows(table, first, last - first);
    table.whole()->push_range(static_cast<int64_t>(num_values_), std::ssize(spread_), spread_.data(),
                              step.scale, device_);
    num_values_ = last * cols;
    work.use(spread_.size() + touched * work_of_row(table));
  }
  table.end_step();
  return true;
}

// spread_ <- the gradients of the rows [first, first + count) of the table, of which some_ are not zero.  Returns
// the number of these.
uint64_t TableUpdater::spread_rows(const Table& table, size_t first, size_t count) {
  const size_t cols = static_cast<size_t>(table.width());
  spread_.assign(count * cols, 0.0f);
  auto spread = [&](std::span<const uint64_t> keys, const float* from) {
    for (uint64_t key : keys) {
      const size_t row = static_cast<size_t>(table.deal()->local(static_cast<int64_t>(key)));
      std::copy_n(from, cols, spread_.data() + (row - first) * cols);
      from += cols;
    }
    return keys.size();
  };
  if (!lie_apart_ && !some_.empty()) {
    sum_rows(table.width(), sums_);
    return spread(plan_.keys, sums_.data());
  }
  uint64_t touched = 0;
  for (const RowsOfOne& some : some_) touched += spread(some.keys, some.floats);
  return touched;
}

bool TableUpdater::apply_matrix(Table& table, std::span<const Contribution> contributions,
                                const StepSize& step, SliceWork& work) {
  if (!in_step_) table.begin_step(step.learning_rate);
  in_step_ = true;
  auto push = [&](size_t first, size_t count, const float* gradient) {
    table.whole()->push_range(static_cast<int64_t>(first), static_cast<int64_t>(count), gradient, step.scale,
                              device_);
  };
  if (!for_ranges(table, contributions, work, push)) return false;
  table.end_step();
  return true;
}

// Calls body(first, count, gradient) for ranges of the values, one after the other, with the sums of the
// trainers' gradients.  Returns false if there is more work than `work` allows.
template <class Body>
bool TableUpdater::for_ranges(const Table& table, std::span<const Contribution> contributions,
                              SliceWork& work, Body&& body) {
  const size_t cols = static_cast<size_t>(table.width()), total = table.size() * cols;
  const size_t block = static_cast<size_t>(dense_rows_at_once(table.width())) * cols;
  const bool whole = contributions.size() == 1 && contributions[0].slice->count == table.size();
  while (num_values_ < total) {
    if (work.used_up()) return false;
    // All ranges but the last have whole blocks, at least one.  They are compared as numbers of blocks, since
    // a number of values would overflow when the work is unlimited.
    const uint64_t most = std::max<uint64_t>(1, work.left / block);
    const size_t left = total - num_values_;
    const size_t count = most > left / block ? left : most * block;
    body(num_values_, count,
         whole ? contributions[0].floats + num_values_ : sum_range(contributions, cols, count));
    num_values_ += count;
    work.use(count);
  }
  return true;
}

// Returns the sums of the trainers' gradients of `count` values from num_values_ on.  The first trainer sets
// a value, the others add to it.
const float* TableUpdater::sum_range(std::span<const Contribution> contributions, size_t cols, size_t count) {
  sums_.assign(count, 0.0f);
  auto for_each_run = [&](auto&& run) {
    for (const Contribution& each : contributions) {
      const size_t begin = each.slice->first * cols, end = begin + each.slice->count * cols;
      const size_t from = std::max(begin, num_values_), to = std::min(end, num_values_ + count);
      if (from < to)
        run(from - num_values_, std::span(each.floats + (from - begin), to - from), each.trainer);
    }
  };
  if (any_order_) {
    sum_free_of_order(sums_, [&](auto&& run) {
      for_each_run([&run](size_t first, std::span<const float> values, int) { run(first, values); });
    });
    return sums_.data();
  }
  for_each_run([&](size_t first, std::span<const float> values, int trainer) {
    float* to = sums_.data() + first;
    if (trainer == contributions[0].trainer) {
      std::ranges::copy(values, to);
    } else {
      for (size_t i = 0; i < values.size(); ++i) to[i] += values[i];
    }
  });
  return sums_.data();
}

// Sets the statistic to the mean of the trainers' values, weighted by their examples:
//   value = sum over trainers t of share[t] value[t],   share[t] = samples[t] / samples of the step
// The product of the first trainer replaces the old value, and the others are added in the order of ranks.
// The values of a single trainer are copied.
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
