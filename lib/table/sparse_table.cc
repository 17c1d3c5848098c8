#include "table/sparse_table.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/radix_sort.h"
#include "table/row_policy_state.h"

namespace ps {

namespace {

constexpr size_t kAhead = 16;  // rows whose lines are on their way

// Some 200 µs of work and more.  Threads that are woken for less take the cores from those that prepare the
// next batch: on two cores, passes of a factorisation machine took a third longer.
int64_t rows_worth_sharing(const RowLayout& layout) {
  return std::clamp<int64_t>((512 << 10) / layout.stride(), 256, 64 << 10);
}

}  // namespace

SparseTable::SparseTable(int64_t width, uint64_t bound, const Initializer& initializer,
                         std::unique_ptr<Optimizer<float>> optimizer, const std::optional<RowPolicy>& policy,
                         RowSpill* spill)
    : optimizer_(std::move(optimizer)),
      layout_(width, optimizer_->state_arrays(), !optimizer_->idle_is_identity(), policy.has_value()),
      initializer_(initializer),
      block_(rows_worth_sharing(layout_)),
      spilled_(spill != nullptr),
      rows_stay_(!policy && !spilled_),
      rows_(bound > 0 ? make_array_rows(layout_, bound) : make_hashed_rows(layout_, spill)) {
  PS_CHECK(bound == 0 || rows_stay_);
  if (policy) life_ = std::make_unique<RowPolicyState>(*policy, initializer.seed);
}

SparseTable::~SparseTable() = default;

void SparseTable::pull(const KeyPlan& plan, ThreadPool& pool, std::vector<float*>& rows) {
  rows.resize(plan.keys.size());
  pull(plan.keys, pool, rows);
}

void SparseTable::pull(std::span<const uint64_t> keys, ThreadPool& pool, std::span<float*> rows) {
  life_ ? pull_some(keys, rows, pool) : find_or_create(keys, rows, pool);
}

// rows[i] <- the row of keys[i], up to date.
void SparseTable::find_or_create(std::span<const uint64_t> keys, std::span<float*> rows, ThreadPool& pool) {
  const size_t num_missing = find_all(keys, rows, pool);
  if (num_missing > 0) create_missing(keys, num_missing, rows, pool);
}

// rows[i] <- the row of keys[i], up to date, or null.  Returns how many are not there, whose places are the
// first of missing_.
size_t SparseTable::find_all(std::span<const uint64_t> keys, std::span<float*> rows, ThreadPool& pool) {
  rows_->fetch(keys);
  if (layout_.stamped()) about_to_write(keys);  // being brought up to date is a change
  const int64_t size = static_cast<int64_t>(keys.size());
  if (missing_.size() < keys.size()) missing_.resize(keys.size());
  block_missing_.assign(static_cast<size_t>((size + block_ - 1) / block_), 0);
  pool.for_each(size, block_, [&](int64_t first, int64_t last) {
    const size_t begin = static_cast<size_t>(first), count = static_cast<size_t>(last - first);
    block_missing_[static_cast<size_t>(first / block_)] =
        find(keys.subspan(begin, count), rows.subspan(begin, count), missing_.data() + begin);
  });
  size_t num_missing = 0;
  for (size_t block = 0; block < block_missing_.size(); ++block) {
    const size_t begin = block * static_cast<size_t>(block_);
    for (size_t m = begin; m < begin + block_missing_[block]; ++m) {
      missing_[num_missing++] = missing_[m] + static_cast<uint32_t>(begin);
    }
  }
  return num_missing;
}

// Brings what it finds up to date, and puts the places of what it does not find into `missing`.
size_t SparseTable::find(std::span<const uint64_t> keys, std::span<float*> rows, uint32_t* missing) const {
  constexpr size_t kAtOnce = 256;  // rows whose lines stay in the first-level cache
  size_t num_missing = 0;
  for (size_t begin = 0; begin < keys.size(); begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, keys.size() - begin);
    const size_t more = rows_->find(keys.subspan(begin, count), rows.data() + begin, missing + num_missing);
    for (size_t m = num_missing; m < num_missing + more; ++m) missing[m] += static_cast<uint32_t>(begin);
    num_missing += more;
    if (!layout_.stamped()) continue;
    for (float* row : rows.subspan(begin, count)) {
      if (row != nullptr) bring_up_to_date(row);
    }
  }
  return num_missing;
}

// Makes the rows that are not there, whose places are the first `count` of missing_.
void SparseTable::create_missing(std::span<const uint64_t> keys, size_t count, std::span<float*> rows,
                                 ThreadPool& pool) {
  new_keys_.resize(count);
  new_rows_.resize(count);
  for (size_t i = 0; i < count; ++i) new_keys_[i] = keys[missing_[i]];
  insert_new_rows(pool);
  pool.for_each(static_cast<int64_t>(count), block_, [&](int64_t begin, int64_t end) {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      start_row(new_keys_[i], new_rows_[i]);
      rows[missing_[i]] = new_rows_[i];
    }
  });
}

size_t SparseTable::num_missing(std::span<const uint64_t> keys) const {
  constexpr size_t kKeysAtOnce = 256;
  std::array<float*, kKeysAtOnce> rows;
  std::array<uint32_t, kKeysAtOnce> missing;
  size_t count = 0;
  for (size_t begin = 0; begin < keys.size(); begin += kKeysAtOnce) {
    const size_t size = std::min(kKeysAtOnce, keys.size() - begin);
    count += rows_->find(keys.subspan(begin, size), rows.data(), missing.data());
  }
  return count;
}

// new_rows_ <- rows, not filled yet, for new_keys_, which have none; all of them or, when it throws, none.
void SparseTable::insert_new_rows(ThreadPool& pool) {
  try {
    rows_->insert(new_keys_, new_rows_.data(), pool);
  } catch (...) {
    rows_->erase(new_keys_);
    throw;
  }
  if (snapshot_) snapshot_->leave_out(new_keys_);
  if (tracks_changes_) rows_->mark(new_keys_);
  if (life_) note_created(new_keys_);
}

void SparseTable::bring_up_to_date(float* row) const {
  optimizer_->catch_up(layout_.row(row), layout_.stamp(row), optimizer_->steps());
  layout_.set_stamp(row, optimizer_->steps());
}

void SparseTable::bring_up_to_date(std::span<const uint64_t> keys, std::span<float* const> rows,
                                   ThreadPool& pool) {
  if (!layout_.stamped()) return;
  write_rows(keys, rows, pool, [&](std::span<float* const> block, size_t) {
    for (size_t n = 0; n < block.size(); ++n) {
      if (n + kAhead < block.size()) layout_.prefetch(block[n + kAhead]);
      bring_up_to_date(block[n]);
    }
  });
}

// Rows that a snapshot has just copied are in the nearest caches: there they are written, if one thread does.
template <class Body>
void SparseTable::write_rows(std::span<const uint64_t> keys, std::span<float* const> rows, ThreadPool& pool,
                             Body&& body) {
  constexpr size_t kCopied = 256;
  const size_t most = snapshot_ && pool.threads() == 1 ? kCopied : std::max<size_t>(1, rows.size());
  for (size_t begin = 0; begin < rows.size(); begin += most) {
    const size_t count = std::min(most, rows.size() - begin);
    about_to_write(keys.subspan(begin, count));
    pool.for_each(static_cast<int64_t>(count), block_, [&](int64_t first, int64_t last) {
      const size_t start = begin + static_cast<size_t>(first);
      body(rows.subspan(start, static_cast<size_t>(last - first)), start);
    });
  }
}

void SparseTable::fill_initial(uint64_t key, const Row<float>& row) const {
  initializer_.fill(key, {row.weight, static_cast<size_t>(width())});
  optimizer_->initialize(row);
}

void SparseTable::start_row(uint64_t key, float* row) const {
  fill_initial(key, layout_.row(row));
  if (layout_.has_history()) layout_.set_history(row, {});
  if (!layout_.stamped()) return;
  layout_.set_stamp(row, 0);
  bring_up_to_date(row);
}

void SparseTable::read(const KeyPlan& plan, ThreadPool& pool, std::vector<float>& copies,
                       std::vector<float*>& rows) const {
  const size_t width = static_cast<size_t>(this->width());
  copies.resize(plan.keys.size() * width);
  rows.resize(plan.keys.size());
  const int64_t size = static_cast<int64_t>(rows.size());
  pool.for_each(size, spilled_ ? std::max<int64_t>(size, 1) : block_, [&](int64_t first, int64_t last) {
    const size_t begin = static_cast<size_t>(first), end = static_cast<size_t>(last);
    for (size_t n = begin; n < end; ++n) rows[n] = copies.data() + n * width;
    read_rows(std::span(plan.keys).subspan(begin, end - begin), copies.data() + begin * width);
  });
}

void SparseTable::read_rows(std::span<const uint64_t> keys, float* weights) const {
  constexpr size_t kKeysAtOnce = 256;
  std::array<float*, kKeysAtOnce> found;
  std::array<uint32_t, kKeysAtOnce> missing;
  std::vector<float> scratch(static_cast<size_t>(layout_.values())), copies;
  for (size_t begin = 0; begin < keys.size(); begin += kKeysAtOnce) {
    const size_t count = std::min(kKeysAtOnce, keys.size() - begin);
    const size_t num_missing =
        rows_->find_to_read(keys.subspan(begin, count), found.data(), missing.data(), copies);
    if (num_missing == 0 && !layout_.stamped()) {
      optimizer_->read_rows({found.data(), count}, width(), weights + begin * static_cast<size_t>(width()));
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      read_row(keys[begin + i], found[i], scratch, weights + (begin + i) * static_cast<size_t>(width()));
    }
  }
}

// A row that time changes is read from a copy, so that reading never changes what training does next.
void SparseTable::read_row(uint64_t key, float* found, std::span<float> scratch, float* weights) const {
  if (found != nullptr && !layout_.stamped()) return optimizer_->read(layout_.row(found), weights);
  if (found == nullptr && life_ && life_->admission) return void(std::fill_n(weights, width(), 0.0f));
  const Row<float> copy = layout_.row(scratch.data());
  if (found != nullptr) {
    std::copy_n(found, layout_.values(), scratch.data());
  } else {
    fill_initial(key, copy);
  }
  optimizer_->catch_up(copy, found != nullptr ? layout_.stamp(found) : 0, optimizer_->steps());
  optimizer_->read(copy, weights);
}

void SparseTable::push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                       double learning_rate, ThreadPool& pool) {
  PS_CHECK(rows.size() == plan.keys.size());
  if (life_) return push_some(plan, rows, gradients, scale, learning_rate, pool);
  const GradientPiece piece{plan.keys, rows, gradients};
  push({&piece, 1}, scale, learning_rate, pool);
}

void SparseTable::push(std::span<const GradientPiece> pieces, float scale, double learning_rate,
                       ThreadPool& pool) {
  PS_CHECK(!life_);
  optimizer_->begin_step(learning_rate);
  for (const GradientPiece& piece : pieces) update(piece.keys, piece.rows, piece.gradients, scale, pool);
}

void SparseTable::update(std::span<const uint64_t> keys, std::span<float* const> rows, const float* gradients,
                         float scale, ThreadPool& pool) {
  const int64_t steps = optimizer_->steps();
  write_rows(keys, rows, pool, [&](std::span<float* const> block, size_t first) {
    optimizer_->update_rows(block, width(), gradients + static_cast<int64_t>(first) * width(), scale);
    if (!layout_.stamped()) return;
    for (float* row : block) layout_.set_stamp(row, steps);
  });
}

void SparseTable::load_rows(std::span<const uint64_t> keys, const float* weights, ThreadPool& pool) {
  std::vector<float*> rows(keys.size());
  find_or_create(keys, rows, pool);
  about_to_write(keys);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(weights + static_cast<int64_t>(i) * width(), width(), rows[i]);
    optimizer_->initialize(layout_.row(rows[i]));
    if (layout_.has_history()) layout_.set_history(rows[i], {});
    if (layout_.stamped()) layout_.set_stamp(rows[i], optimizer_->steps());
  }
}

void SparseTable::restore_rows(const RowBlock& rows, ThreadPool& pool) {
  std::vector<float*> places(rows.size());
  find_or_create(rows.keys, places, pool);
  about_to_write(rows.keys);
  for (size_t i = 0; i < places.size(); ++i) {
    copy_row(layout_, rows, i, places[i]);
  }
}

bool SparseTable::restores_partitions() const {
  return rows_->adds_to_partitions() && !life_ && !snapshot_ && !tracks_changes_;
}

void SparseTable::restore_partition(uint32_t partition, const RowBlock& rows, uint64_t expected) {
  PS_CHECK(restores_partitions());
  std::vector<float*> places(rows.size());
  rows_->reserve_in(partition, expected);
  rows_->insert_in(partition, rows.keys, places.data());
  for (size_t i = 0; i < places.size(); ++i) copy_row(layout_, rows, i, places[i]);
}

size_t SparseTable::erase(std::span<const uint64_t> keys) {
  if (snapshot_) snapshot_->keep(keys);
  if (tracks_changes_ || life_) note_gone(keys);
  return rows_->erase(keys);
}

// Before rows are erased; some may not be there.
void SparseTable::note_gone(std::span<const uint64_t> keys) {
  std::vector<float*> rows(keys.size());
  std::vector<uint32_t> missing(keys.size());
  missing.resize(rows_->find(keys, rows.data(), missing.data()));
  auto next_missing = missing.begin();
  for (uint32_t place = 0; place < keys.size(); ++place) {
    if (next_missing != missing.end() && *next_missing == place) {
      ++next_missing;
      continue;
    }
    if (tracks_changes_) erased_.push_back(keys[place]);
    if (life_) --life_->sizes[key_partition(keys[place])];
  }
}

void SparseTable::begin_snapshot(const SnapshotOptions& options, SnapshotSink sink) {
  PS_CHECK(!snapshot_ && (tracks_changes_ || !options.only_changed));
  if (!options.only_changed) {
    rows_->clear_marks();
    erased_.clear();
  }
  erased_before_ = erased_.size();
  snapshot_ = std::make_unique<SparseSnapshot>(layout_, *rows_, options, std::move(sink));
}

bool SparseTable::sweep_snapshot(uint64_t rows) {
  if (snapshot_ && !snapshot_->sweep(rows)) end_snapshot();
  return snapshot_ != nullptr;
}

uint64_t SparseTable::memory_bytes() const {
  return rows_->memory_bytes() + (snapshot_ ? snapshot_->memory_bytes() : 0) +
         erased_.capacity() * sizeof erased_[0] +
         (life_ && life_->admission ? life_->admission->memory_bytes() : 0);
}

KeyLists SparseTable::list_keys() const {
  if (rows_->scans_partitions()) return {};
  KeyLists lists(0, kPartitions);
  while (lists.look(*rows_)) continue;
  return lists;
}

std::vector<uint64_t> SparseTable::keys_of(uint32_t partition, const KeyLists& lists) const {
  if (lists.has(partition)) return {lists.of(partition).begin(), lists.of(partition).end()};
  std::vector<uint64_t> keys;
  for (uint64_t cursor = 0; rows_->scan(partition, cursor, keys);) continue;
  radix_sort(keys);
  return keys;
}

void SparseTable::copy_rows(std::span<const uint64_t> keys, RowBlock& rows) const {
  std::vector<float*> found(keys.size());
  std::vector<uint32_t> missing(keys.size());
  std::vector<float> copies;
  PS_CHECK(rows_->find_to_read(keys, found.data(), missing.data(), copies) == 0);
  rows.clear();
  append_rows(layout_, keys, found.data(), rows);
}

void SparseTable::save_rows(uint32_t partition, const KeyLists& lists, size_t at_once,
                            const std::function<void(const RowBlock&)>& take) const {
  constexpr size_t kRows = 256;  // found at a time: their lines are still in the cache when they are copied
  const std::vector<uint64_t> keys = keys_of(partition, lists);
  std::array<float*, kRows> rows;
  std::array<uint32_t, kRows> missing;
  std::vector<float> copies;
  RowBlock block;
  for (size_t begin = 0; begin < keys.size();) {
    const size_t room = std::min(kRows, at_once - block.size());
    const auto some = std::span(keys).subspan(begin, std::min(room, keys.size() - begin));
    rows_->find_to_read(some, rows.data(), missing.data(), copies);
    append_rows(layout_, some, rows.data(), block);
    begin += some.size();
    if (block.size() < at_once && begin < keys.size()) continue;
    take(block);
    block.clear();
  }
}

}  // namespace ps
