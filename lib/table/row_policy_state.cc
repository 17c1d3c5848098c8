// What a policy changes in a sparse table.
//
// Nothing here depends on the order of keys in a plan, nor on which partitions the table has: each decides on
// its own rows, by keys, histories and steps.
#include "table/row_policy_state.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

// Of all partitions.  What is kept for snapshots, and what is on disk, is the owner's alone.
template <class Body>
void SparseTable::for_each_partition(ThreadPool& pool, Body&& body) {
  const bool shared = !snapshot_ && !tracks_changes_ && !spilled_;
  const int64_t at_once = shared ? 1 : int64_t{kPartitions};
  pool.for_each(kPartitions, at_once, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) body(static_cast<uint32_t>(p));
  });
}

// What is not there reads from a copy: of zeros, all the same one, or of initial weights.
void SparseTable::pull_some(std::span<const uint64_t> keys, std::span<float*> rows, ThreadPool& pool) {
  const size_t num_missing = find_all(keys, rows, pool), cols = static_cast<size_t>(width());
  std::vector<float>& stand_ins = life_->stand_ins;
  if (life_->admission) {
    stand_ins.assign(cols, 0.0f);
    for (size_t m = 0; m < num_missing; ++m) rows[missing_[m]] = stand_ins.data();
    return;
  }
  stand_ins.resize(num_missing * cols);
  std::vector<float> scratch(static_cast<size_t>(layout_.values()));
  const Row<float> copy = layout_.row(scratch.data());
  for (size_t m = 0; m < num_missing; ++m) {
    fill_initial(keys[missing_[m]], copy);
    if (layout_.stamped()) optimizer_->catch_up(copy, 0, optimizer_->steps());
    rows[missing_[m]] = stand_ins.data() + m * cols;
    std::copy_n(copy.weight, cols, rows[missing_[m]]);
  }
}

// Without admission a key has a row from this step on, and is trained by it; with admission, from the next.
void SparseTable::push_some(const KeyPlan& plan, std::span<float* const> rows, const float* gradients,
                            float scale, double learning_rate, ThreadPool& pool) {
  PS_CHECK(plan.counts.size() == plan.keys.size());
  about_to_write(plan.keys);
  RowPolicyState& life = *life_;
  life.trained.assign(rows.begin(), rows.end());
  life.absent.clear();
  for (size_t n = 0; n < rows.size(); ++n) {
    if (!life.is_stand_in(rows[n])) continue;
    life.trained[n] = nullptr;
    life.absent.push_back({plan.keys[n], static_cast<uint32_t>(n), plan.counts[n]});
  }
  if (!life.admission) {
    create_candidates(life.absent, /*caught_up=*/true, pool);
    for (size_t i = 0; i < life.absent.size(); ++i) life.trained[life.absent[i].place] = new_rows_[i];
  }
  optimizer_->begin_step(learning_rate);
  train_rows(plan, gradients, scale, pool);
  if (life.admission) create_admitted(pool);
  evict_surplus(pool);
}

// The step's gradients and counts for the rows that are there.
void SparseTable::train_rows(const KeyPlan& plan, const float* gradients, float scale, ThreadPool& pool) {
  const std::vector<float*>& rows = life_->trained;
  auto train_run = [&](int64_t begin, int64_t end) {
    std::span<float* const> run(rows.data() + begin, static_cast<size_t>(end - begin));
    optimizer_->update_rows(run, width(), gradients + begin * width(), scale);
    for (int64_t n = begin; n < end; ++n) {
      float* row = rows[static_cast<size_t>(n)];
      const KeyCount& count = plan.counts[static_cast<size_t>(n)];
      const RowHistory old = layout_.history(row);
      layout_.set_history(row, {old.shows + count.shows, old.clicks + count.clicks, 0});
      if (layout_.stamped()) layout_.set_stamp(row, optimizer_->steps());
    }
  };
  pool.for_each(static_cast<int64_t>(rows.size()), block_, [&](int64_t first, int64_t last) {
    for (int64_t begin = first; begin < last; ++begin) {
      int64_t end = begin;
      while (end < last && rows[static_cast<size_t>(end)] != nullptr) ++end;
      if (end > begin) train_run(begin, end);
      begin = end;
    }
  });
}

void SparseTable::create_admitted(ThreadPool& pool) {
  RowPolicyState& life = *life_;
  size_t num_admitted = 0;
  for (const Candidate& candidate : life.absent) {
    const auto total = life.admission->occur(candidate.key, candidate.count, optimizer_->steps());
    if (total) life.absent[num_admitted++] = {candidate.key, candidate.place, *total};
  }
  life.absent.resize(num_admitted);
  life.admission->end_step();
  create_candidates(life.absent, /*caught_up=*/false, pool);
  for (size_t i = 0; i < life.absent.size(); ++i) {
    const KeyCount& count = life.absent[i].count;
    layout_.set_history(new_rows_[i], {double{1} * count.shows, double{1} * count.clicks, 0});
  }
}

// new_rows_[i] <- a new row for candidates[i], of which those that there is no room for are taken out first.
// Rows have their initial weights, brought up to date with all steps if they are to be `caught_up`: as if
// they had been there all the time.
void SparseTable::create_candidates(std::vector<Candidate>& candidates, bool caught_up, ThreadPool& pool) {
  if (life_->limited() && !life_->policy.evicts()) refuse_surplus(candidates);
  new_keys_.clear();
  for (const Candidate& candidate : candidates) new_keys_.push_back(candidate.key);
  new_rows_.resize(new_keys_.size());
  if (new_keys_.empty()) return;
  insert_new_rows(pool);
  for (size_t i = 0; i < new_keys_.size(); ++i) {
    if (caught_up) {
      start_row(new_keys_[i], new_rows_[i]);
      continue;
    }
    fill_initial(new_keys_[i], layout_.row(new_rows_[i]));
    if (layout_.stamped()) layout_.set_stamp(new_rows_[i], optimizer_->steps());
  }
}

void SparseTable::note_created(std::span<const uint64_t> keys) {
  for (uint64_t key : keys) ++life_->sizes[key_partition(key)];
  life_->report.created += keys.size();
}

// Of the new keys of a partition, the smallest get the rows that there is room for.
void SparseTable::refuse_surplus(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  auto sizes = life_->sizes;
  size_t num_kept = 0;
  for (const Candidate& candidate : candidates) {
    if (sizes[key_partition(candidate.key)]++ < life_->partition_limit()) candidates[num_kept++] = candidate;
  }
  life_->report.refused += candidates.size() - num_kept;
  candidates.resize(num_kept);
}

// Takes a sixteenth of a partition's rows out at once: to find them is to look at all.
void SparseTable::evict_surplus(ThreadPool& pool) {
  constexpr uint64_t kShare = 16;
  const uint64_t limit = life_->partition_limit(), largest = *std::ranges::max_element(life_->sizes);
  if (!life_->limited() || !life_->policy.evicts() || largest <= limit) return;
  std::array<std::vector<uint64_t>, kPartitions> keys;
  for_each_partition(pool, [&](uint32_t p) {
    const uint64_t size = life_->sizes[p];
    if (size > limit) keys[p] = least_valuable(p, size - (limit - limit / kShare));
  });
  for (const std::vector<uint64_t>& some : keys) life_->report.evicted += erase(some);
}

// Those of the lowest score; of these the longest unseen; of these the smallest keys.
std::vector<uint64_t> SparseTable::least_valuable(uint32_t partition, size_t count) const {
  struct Value {
    double score;
    uint32_t unseen;
    uint64_t key;
    bool operator<(const Value& other) const {
      if (score != other.score) return score < other.score;
      if (unseen != other.unseen) return unseen > other.unseen;
      return key < other.key;
    }
  };
  std::vector<Value> values;
  for_each_row(partition, [&](uint64_t key, const float* row) {
    const RowHistory history = layout_.history(row);
    values.push_back({life_->policy.score_of(history), history.unseen, key});
  });
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(count), values.end());
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(values[i].key);
  return keys;
}

void SparseTable::shrink_after_step(bool asked, ThreadPool& pool) {
  if (asked || life_->policy.shrinks_after_step(optimizer_->steps())) shrink(pool);
}

void SparseTable::end_pass(int64_t pass, ThreadPool& pool) {
  if (life_ && life_->policy.shrinks_after_pass(pass)) shrink(pool);
}

void SparseTable::shrink(ThreadPool& pool) {
  ++life_->shrinks;
  std::array<std::vector<uint64_t>, kPartitions> expired;
  for_each_partition(pool, [&](uint32_t p) { expired[p] = age_partition(p); });
  for (const std::vector<uint64_t>& some : expired) life_->report.expired += erase(some);
}

// Returns the keys of rows that are to go.
std::vector<uint64_t> SparseTable::age_partition(uint32_t partition) {
  std::vector<uint64_t> expired;
  for_each_row(partition, [&](uint64_t key, float* row) {
    const RowHistory history = life_->policy.aged(layout_.history(row));
    layout_.set_history(row, history);
    if (life_->policy.expires(history)) expired.push_back(key);
  });
  return expired;
}

void SparseTable::save_policy(std::string& out) const {
  put(out, life_->shrinks);
  RowReport report = life_->report;
  for (const uint64_t* figure : report.figures()) put(out, *figure);
  if (life_->admission) life_->admission->save(out);
}

RowReport SparseTable::load_policy(ByteReader& in, const ChoosePartition& mine) {
  RowReport report;
  life_->shrinks = saved_shrinks(in);
  for (uint64_t* figure : report.figures()) *figure = in.get<uint64_t>();
  if (life_->admission) life_->admission->load(in, mine);
  return report;
}

void SparseTable::set_report(const RowReport& report) {
  life_->report = report;
}

uint64_t saved_shrinks(ByteReader& in) {
  return in.get<uint64_t>();
}

RowReport SparseTable::report() const {
  RowReport report = life_ ? life_->report : RowReport{};
  report.rows = size();
  if (life_ && life_->admission) report.waiting = life_->admission->waiting();
  return report;
}

}  // namespace ps
