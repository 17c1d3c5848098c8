#include "table/row_policy_state.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace ps {

RowPolicyState::RowPolicyState(const RowPolicy& policy, uint64_t seed, TrainedRows& rows)
    : policy_(policy), rows_(rows), removal_(policy_, rows_, report_) {
  if (policy_.admission) admission_.emplace(*policy_.admission, seed);
}

// A key without a row gets a pointer to a stand-in.  With admission, all such keys share one stand-in of
// zeros; without, each has one of its own with its initial weights and state.
void RowPolicyState::pull(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) {
  const std::span<const uint32_t> missing = rows_.find(keys, device, rows);
  const size_t values = static_cast<size_t>(rows_.layout().values());
  if (admission_) {
    stand_ins_.assign(values, 0.0f);
    for (uint32_t position : missing) rows[position] = stand_ins_.data();
    return;
  }
  stand_ins_.resize(missing.size() * values);
  for (size_t m = 0; m < missing.size(); ++m) {
    rows[missing[m]] = stand_ins_.data() + m * values;
    rows_.values().initial_values(keys[missing[m]], rows[missing[m]]);
  }
}

// An empty plan while counts are held is the push of a borrower on another machine, which told its keys
// before: the step is then that of the held keys.  Otherwise rows that pull gave as stand-ins count as
// missing.
void RowPolicyState::push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients,
                          float scale, double learning_rate, Device& device) {
  if (plan.keys.empty()) {
    const KeyPlan held = release_held();
    if (!held.keys.empty()) return push_counts(held, learning_rate, device);
  }
  trained_.assign(rows.begin(), rows.end());
  for (float*& row : trained_) {
    if (is_stand_in(row)) row = nullptr;
  }
  make_step(plan, gradients, scale, learning_rate, device);
}

void RowPolicyState::push_counts(const KeyPlan& plan, double learning_rate, Device& device) {
  trained_.resize(plan.keys.size());
  rows_.find_stored(plan.keys, device, trained_);
  make_step(plan, nullptr, 1, learning_rate, device);
}

// Makes the step of trained_, the rows of the plan's keys; null: the key has none.  Without admission, a key
// gets its row before this step, which then trains it.  With admission, an admitted key gets its row after the
// step, and the next step is the first that trains it.
void RowPolicyState::make_step(const KeyPlan& plan, const float* gradients, float scale, double learning_rate,
                               Device& device) {
  rows_.about_to_write(plan.keys);
  if (!admission_) create_now(plan.keys, trained_, device);
  rows_.begin_step(learning_rate);
  train_part({plan.keys, plan.counts, gradients}, trained_, scale, device);
  end_training();
  removal_.finish(device);
}

// ---- a step in parts

// A borrower brings its copies up to date itself, so the rows here stay as they are stored.
void RowPolicyState::find_part(std::span<const uint64_t> keys, bool borrowed, Device& device,
                               std::span<float*> rows) {
  borrowed ? rows_.find_stored(keys, device, rows) : rows_.find(keys, device, rows);
  if (!admission_) create_now(keys, rows, device);
}

// With admission, keys are admitted by part: that depends on the key alone.
void RowPolicyState::train_part(const CountedGradients& part, std::span<float*> rows, float scale,
                                Device& device) {
  PS_CHECK(part.counts.size() == part.keys.size() && rows.size() == part.keys.size());
  rows_.about_to_write(part.keys);
  train(part, rows, scale, device);
  if (!admission_) return;
  list_absent(part.keys, part.counts, rows);
  create_admitted(device);
}

void RowPolicyState::end_training() {
  if (admission_) admission_->end_step();
  rows_.end_step();
  early_.clear();
  removal_.plan_eviction();
}

void RowPolicyState::end_parts(bool shrink_asked) {
  end_training();
  plan_end_of_step(shrink_asked);
}

KeyPlan RowPolicyState::release_held() {
  if (held_at_ != rows_.optimizer().steps()) return {};
  return take_held();
}

// Applies the step's gradients, unless they are null, and its counts to the existing rows.
void RowPolicyState::train(const CountedGradients& part, std::span<float* const> rows, float scale,
                           Device& device) {
  const RowLayout& layout = rows_.layout();
  const Optimizer<float>& optimizer = rows_.optimizer();
  auto train_run = [&](int64_t begin, int64_t end) {
    const std::span<float* const> run =
        rows.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    if (part.gradients != nullptr)
      optimizer.update_rows(run, layout.width(), part.gradients + begin * layout.width(), scale);
    for (int64_t n = begin; n < end; ++n) {
      float* row = rows[static_cast<size_t>(n)];
      const KeyCount& count = part.counts[static_cast<size_t>(n)];
      const RowHistory old = layout.history(row);
      layout.set_history(row, {old.shows + count.shows, old.clicks + count.clicks, 0});
      if (layout.stamped() && part.gradients != nullptr) layout.set_stamp(row, optimizer.steps());
    }
  };
  // update_rows takes no null pointers, so the rows are trained in runs [begin, end) of existing ones.
  device.for_each(static_cast<int64_t>(rows.size()), rows_.rows_at_once(), [&](int64_t first, int64_t last) {
    for (int64_t begin = first; begin < last; ++begin) {
      int64_t end = begin;
      while (end < last && rows[static_cast<size_t>(end)] != nullptr) ++end;
      if (end > begin) train_run(begin, end);
      begin = end;
    }
  });
}

std::vector<uint64_t> RowPolicyState::absent(std::span<const uint64_t> keys, Device& device) {
  std::vector<float*> rows(keys.size());
  std::vector<uint64_t> absent;
  for (uint32_t position : rows_.find_stored(keys, device, rows)) absent.push_back(keys[position]);
  return absent;
}

// Without admission, the push will make a row for each held key that has none.  The values that come for
// such a key before the push wait in early_ and become those of the new row.  With admission a new row
// begins with its initial values, so nothing is kept for a key without a row.
void RowPolicyState::put_rows(const RowBlock& block, Device& device) {
  std::vector<float*> rows(block.size());
  rows_.find_stored(block.keys, device, rows);
  rows_.about_to_write(block.keys);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != nullptr) {
      copy_values(rows_.layout(), block, i, rows[i]);
    } else if (!admission_ && is_held(block.keys[i])) {
      const int64_t values = rows_.layout().values();
      const auto first = block.values.begin() + static_cast<int64_t>(i) * values;
      early_[block.keys[i]] = {{first, first + values}, block.stamps.empty() ? 0 : block.stamps[i]};
    }
  }
}

// Merges the block and the early rows by walking through `keys`, which ascend as the rows of the block do:
// a key has its row at position `next` of the block, or early, or nowhere.  Statistics of an early row are
// zeros, since no step has counted it yet.
void RowPolicyState::add_early(std::span<const uint64_t> keys, RowBlock& block) const {
  if (early_.empty()) return;
  RowBlock all;
  const RowLayout& layout = rows_.layout();
  const int64_t values = layout.values(), statistics = layout.floats() - values - layout.stamped();
  size_t next = 0;  // index of the next row of the block
  auto add = [&](uint64_t key, const float* row) {
    all.keys.push_back(key);
    all.values.insert(all.values.end(), row, row + values);
  };
  for (uint64_t key : keys) {
    const auto early = early_.find(key);
    if (next < block.size() && block.keys[next] == key) {
      add(key, block.values.data() + static_cast<int64_t>(next) * values);
      if (layout.stamped()) all.stamps.push_back(block.stamps[next]);
      const auto old = block.statistics.begin() + static_cast<int64_t>(next) * statistics;
      all.statistics.insert(all.statistics.end(), old, old + statistics);
      ++next;
    } else if (early != early_.end()) {
      add(key, early->second.values.data());
      if (layout.stamped()) all.stamps.push_back(early->second.stamp);
      all.statistics.resize(all.statistics.size() + static_cast<size_t>(statistics));
    }
  }
  block = std::move(all);
}

void RowPolicyState::hold_counts(std::span<const uint64_t> keys, std::span<const KeyCount> counts) {
  if (keys.empty()) return;
  // Counts of an earlier step were for a push that never came.
  if (held_at_ != rows_.optimizer().steps()) forget_held();
  held_at_ = rows_.optimizer().steps();
  merge_held(keys, counts);
}

// Merges ascending keys into those that are held, from the largest down, so that it takes no second list: keys [0, i)
// and [out, end) are merged, and the gap between them is as long as the keys to come.  A key that comes again gets its
// last count, and leaves a place in the gap free.
void RowPolicyState::merge_held(std::span<const uint64_t> keys, std::span<const KeyCount> counts) {
  std::vector<uint64_t> fresh;
  std::ranges::set_difference(keys, held_.keys, std::back_inserter(fresh));
  held_without_row_ += rows_.num_missing(fresh);
  size_t i = held_.keys.size(), left = keys.size(), out = i + left;
  held_.keys.resize(out);
  held_.counts.resize(out);
  while (left > 0) {
    const bool held_is_next = i > 0 && held_.keys[i - 1] > keys[left - 1];
    --out;
    if (held_is_next) {
      --i;
      held_.keys[out] = held_.keys[i];
      held_.counts[out] = held_.counts[i];
    } else {
      --left;
      if (i > 0 && held_.keys[i - 1] == keys[left]) --i;
      held_.keys[out] = keys[left];
      held_.counts[out] = counts[left];
    }
  }
  held_.keys.erase(held_.keys.begin() + static_cast<ptrdiff_t>(i),
                   held_.keys.begin() + static_cast<ptrdiff_t>(out));
  held_.counts.erase(held_.counts.begin() + static_cast<ptrdiff_t>(i),
                     held_.counts.begin() + static_cast<ptrdiff_t>(out));
}

KeyPlan RowPolicyState::take_held() {
  held_without_row_ = 0;
  return std::exchange(held_, {});
}

void RowPolicyState::forget_held() {
  take_held();
  early_.clear();
}

bool RowPolicyState::is_held(uint64_t key) const {
  return held_at_ == rows_.optimizer().steps() && std::ranges::binary_search(held_.keys, key);
}

// The step may make a row of each held key that has none.
uint64_t RowPolicyState::memory_bytes() const {
  constexpr uint64_t kNodeBytes = 96;  // of an early row, beside its values
  const uint64_t early = kNodeBytes + static_cast<uint64_t>(rows_.layout().values()) * sizeof(float);
  return (admission_ ? admission_->memory_bytes() : 0) + early_.size() * early +
         held_.keys.size() * (sizeof(uint64_t) + sizeof(KeyCount)) +
         held_without_row_ * new_row_bytes(rows_.layout());
}

// absent_ <- the keys without a row.
void RowPolicyState::list_absent(std::span<const uint64_t> keys, std::span<const KeyCount> counts,
                                 std::span<float* const> rows) {
  absent_.clear();
  for (size_t n = 0; n < keys.size(); ++n) {
    if (rows[n] != nullptr) continue;
    absent_.push_back({keys[n], static_cast<uint32_t>(n), counts.empty() ? KeyCount() : counts[n]});
  }
}

// Makes rows for the keys without one as if they had existed from the first step on, so that this step trains
// them.
void RowPolicyState::create_now(std::span<const uint64_t> keys, std::span<float*> rows, Device& device) {
  list_absent(keys, {}, rows);
  insert_absent(device);
  for (size_t i = 0; i < absent_.size(); ++i) {
    rows_.values().start(new_keys_[i], new_rows_[i]);
    use_early(new_keys_[i], new_rows_[i]);
    rows[absent_[i].position] = new_rows_[i];
  }
}

// Gives a new row the values that came early.
void RowPolicyState::use_early(uint64_t key, float* row) const {
  const auto early = early_.find(key);
  if (early == early_.end()) return;
  std::ranges::copy(early->second.values, row);
  if (rows_.layout().stamped()) rows_.layout().set_stamp(row, early->second.stamp);
}

// Counts the absent keys.  Admitted keys get rows whose history holds their counts.
void RowPolicyState::create_admitted(Device& device) {
  size_t num_admitted = 0;
  for (const Candidate& candidate : absent_) {
    const auto total = admission_->occur(candidate.key, candidate.count, rows_.optimizer().steps());
    if (total) absent_[num_admitted++] = {candidate.key, candidate.position, *total};
  }
  absent_.resize(num_admitted);
  insert_absent(device);
  for (size_t i = 0; i < absent_.size(); ++i) {
    const KeyCount& count = absent_[i].count;
    rows_.values().start_now(new_keys_[i], new_rows_[i]);
    rows_.layout().set_history(new_rows_[i], {double{1} * count.shows, double{1} * count.clicks, 0});
  }
}

// new_rows_[i] <- a new row, not filled, for new_keys_[i], the key of absent_[i].  First removes the keys
// from absent_ for which there is no room.
void RowPolicyState::insert_absent(Device& device) {
  if (removal_.limited() && !policy_.evicts()) refuse_surplus();
  new_keys_.clear();
  for (const Candidate& candidate : absent_) new_keys_.push_back(candidate.key);
  new_rows_.resize(new_keys_.size());
  if (new_keys_.empty()) return;
  rows_.insert(new_keys_, device, new_rows_);
  report_.created += new_keys_.size();
}

// Keeps as many absent keys of each partition as it has room for, the smallest keys first, so that the choice
// does not depend on the order of keys in the plan, nor on the parts of a step, whose keys ascend.
void RowPolicyState::refuse_surplus() {
  std::sort(absent_.begin(), absent_.end(),
            [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  std::array<uint64_t, kPartitions> sizes = removal_.partition_sizes();
  size_t num_kept = 0;
  for (const Candidate& candidate : absent_) {
    if (sizes[key_partition(candidate.key)]++ < removal_.partition_limit()) absent_[num_kept++] = candidate;
  }
  report_.refused += absent_.size() - num_kept;
  absent_.resize(num_kept);
}

void RowPolicyState::end_step(bool shrink_asked, Device& device) {
  plan_end_of_step(shrink_asked);
  removal_.finish(device);
}

void RowPolicyState::end_pass(int64_t pass, Device& device) {
  plan_end_of_pass(pass);
  removal_.finish(device);
}

void RowPolicyState::plan_end_of_step(bool shrink_asked) {
  if (shrink_asked || policy_.shrinks_after_step(rows_.optimizer().steps())) plan_shrink();
}

void RowPolicyState::plan_end_of_pass(int64_t pass) {
  if (policy_.shrinks_after_pass(pass)) plan_shrink();
}

// A table that shrinks every few steps ages its rows only then.  Another shrink between, such as the one at
// the end of a pass, comes too early for keys to have occurred again.
void RowPolicyState::plan_shrink() {
  const int64_t steps = rows_.optimizer().steps();
  if (steps == shrunk_at_) return;
  shrunk_at_ = steps;
  ++shrinks_;
  removal_.plan_shrink(policy_.shrink_steps == 0 || policy_.shrinks_after_step(steps));
}

// policy := shrinks:u64 report:u64[6] admission? shrunk_at:i64 held?
void RowPolicyState::save(std::string& out) const {
  put(out, shrinks_);
  RowReport report = report_;
  for (const uint64_t* figure : report.figures()) put(out, *figure);
  if (admission_) admission_->save(out);
  put(out, shrunk_at_);
  if (!held_.keys.empty() || !early_.empty()) save_held(out);
}

// held := held_at:i64 keys:u64 (key:u64 shows:u32 clicks:u32)[keys]
//         rows:u64 (key:u64 stamp:u32 value:f32[values])[rows]
void RowPolicyState::save_held(std::string& out) const {
  put(out, held_at_);
  put(out, uint64_t{held_.keys.size()});
  for (size_t i = 0; i < held_.keys.size(); ++i) {
    put(out, held_.keys[i]);
    put(out, held_.counts[i].shows);
    put(out, held_.counts[i].clicks);
  }
  put(out, uint64_t{early_.size()});
  for (const auto& [key, row] : early_) {
    put(out, key);
    put(out, row.stamp);
    put_array(out, std::span<const float>(row.values));
  }
}

// Several shards may have saved held keys and early rows, of which each table takes its own partitions.
// The map `some` sorts the keys, since merge_held takes them only in ascending order.
void RowPolicyState::load_held(ByteReader& in, const ChoosePartition& mine) {
  held_at_ = in.get<int64_t>();
  std::map<uint64_t, KeyCount> some;
  for (uint64_t left = in.get<uint64_t>(); left > 0 && in.ok(); --left) {
    const uint64_t key = in.get<uint64_t>();
    const KeyCount count{in.get<uint32_t>(), in.get<uint32_t>()};
    if (mine(key_partition(key))) some[key] = count;
  }
  for (uint64_t left = in.get<uint64_t>(); left > 0 && in.ok(); --left) {
    const uint64_t key = in.get<uint64_t>();
    EarlyRow row;
    row.stamp = in.get<uint32_t>();
    row.values.resize(static_cast<size_t>(rows_.layout().values()));
    in.get_array(std::span<float>(row.values));
    if (mine(key_partition(key))) early_[key] = std::move(row);
  }
  std::vector<uint64_t> keys;
  std::vector<KeyCount> counts;
  for (const auto& [key, count] : some) keys.push_back(key), counts.push_back(count);
  merge_held(keys, counts);
}

RowReport RowPolicyState::load(ByteReader& in, const ChoosePartition& mine) {
  RowReport report;
  shrinks_ = saved_shrinks(in);
  for (uint64_t* figure : report.figures()) *figure = in.get<uint64_t>();
  if (admission_) admission_->load(in, mine);
  constexpr int64_t kUnknown = -1;  // earlier versions did not write it
  shrunk_at_ = in.remaining() > 0 ? in.get<int64_t>() : kUnknown;
  if (in.remaining() > 0) load_held(in, mine);
  return report;
}

uint64_t saved_shrinks(ByteReader& in) {
  return in.get<uint64_t>();
}

RowReport RowPolicyState::report() const {
  RowReport report = report_;
  report.rows = rows_.storage().size();
  if (admission_) report.waiting = admission_->waiting();
  return report;
}

}  // namespace ps
