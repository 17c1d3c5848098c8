// The threads of the device find rows in blocks of keys, and bring them up to date while their cache lines
// are near.  Functions that write existing rows first let the running snapshot copy them.  A row that is only
// read is brought up to date in a copy.
#include "table/trained_rows.h"

#include <array>

#include "base/error.h"
#include "base/radix_sort.h"

namespace ps {

namespace {

constexpr size_t kAhead = 16;  // rows are prefetched so far ahead

// Returns the number of rows below which work is not shared: some 200 µs of work.  Threads that wake up for
// less take the cores from the threads that prepare the next batch: on two cores, passes of a factorisation
// machine took a third longer.
int64_t rows_worth_sharing(const RowLayout& layout) {
  return std::clamp<int64_t>((512 << 10) / layout.stride(), 256, 64 << 10);
}

// Returns the keys of a partition, ascending.
std::vector<uint64_t> keys_of(const RowStorage& storage, uint32_t partition, const KeyLists& lists) {
  if (lists.has(partition)) return {lists.of(partition).begin(), lists.of(partition).end()};
  std::vector<uint64_t> keys;
  for (uint64_t cursor = 0; storage.scan(partition, cursor, keys);) continue;
  radix_sort(keys);
  return keys;
}

}  // namespace

TrainedRows::TrainedRows(int64_t width, uint64_t bound, const Initializer& initializer,
                         std::unique_ptr<Optimizer<float>> optimizer, const std::optional<RowPolicy>& policy,
                         RowSpill* spill)
    : optimizer_(std::move(optimizer)),
      layout_(width, optimizer_->state_arrays(), !optimizer_->idle_is_identity(), policy.has_value()),
      values_(*optimizer_, layout_, initializer),
      block_(rows_worth_sharing(layout_)),
      spilled_(spill != nullptr),
      absent_reads_zero_(policy && policy->admission),
      storage_(bound > 0 ? make_array_rows(layout_, bound) : make_hashed_rows(layout_, spill)) {
  PS_CHECK(bound == 0 || (!policy && !spilled_));
}

TrainedRows::~TrainedRows() = default;

uint64_t TrainedRows::memory_bytes() const {
  return storage_->memory_bytes() + (snapshot_ ? snapshot_->memory_bytes() : 0);
}

// ---- finding and making rows

std::span<const uint32_t> TrainedRows::find(std::span<const uint64_t> keys, Device& device,
                                            std::span<float*> rows) {
  return find_in_blocks(keys, device, rows, layout_.stamped());
}

std::span<const uint32_t> TrainedRows::find_stored(std::span<const uint64_t> keys, Device& device,
                                                   std::span<float*> rows) {
  return find_in_blocks(keys, device, rows, false);
}

// Threads search blocks of block_ keys, each of which writes the positions of its missing keys to its own
// part of missing_.  Then the parts are joined, in order.
std::span<const uint32_t> TrainedRows::find_in_blocks(std::span<const uint64_t> keys, Device& device,
                                                      std::span<float*> rows, bool up_to_date) {
  storage_->fetch(keys);
  if (up_to_date) about_to_write(keys);  // bringing a row up to date writes it
  const int64_t size = static_cast<int64_t>(keys.size());
  if (missing_.size() < keys.size()) missing_.resize(keys.size());
  block_missing_.assign(static_cast<size_t>((size + block_ - 1) / block_), 0);
  device.for_each(size, block_, [&](int64_t first, int64_t last) {
    const size_t begin = static_cast<size_t>(first), count = static_cast<size_t>(last - first);
    block_missing_[static_cast<size_t>(first / block_)] = find_block(
        keys.subspan(begin, count), rows.subspan(begin, count), missing_.data() + begin, up_to_date);
  });
  size_t num_missing = 0;
  for (size_t block = 0; block < block_missing_.size(); ++block) {
    const size_t begin = block * static_cast<size_t>(block_);
    for (size_t m = begin; m < begin + block_missing_[block]; ++m) {
      missing_[num_missing++] = missing_[m] + static_cast<uint32_t>(begin);
    }
  }
  return std::span(missing_).first(num_missing);
}

// Brings the rows that it finds up to date, if asked to, and writes the positions of keys without a row to
// `missing`.
size_t TrainedRows::find_block(std::span<const uint64_t> keys, std::span<float*> rows, uint32_t* missing,
                               bool up_to_date) const {
  constexpr size_t kAtOnce = 256;  // rows whose lines stay in the first-level cache
  size_t num_missing = 0;
  for (size_t begin = 0; begin < keys.size(); begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, keys.size() - begin);
    const size_t more =
        storage_->find(keys.subspan(begin, count), rows.data() + begin, missing + num_missing);
    for (size_t m = num_missing; m < num_missing + more; ++m) missing[m] += static_cast<uint32_t>(begin);
    num_missing += more;
    if (!up_to_date) continue;
    for (float* row : rows.subspan(begin, count)) {
      if (row != nullptr) values_.bring_up_to_date(row);
    }
  }
  return num_missing;
}

size_t TrainedRows::find_or_create(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) {
  const size_t created = find_or_insert(keys, device, rows);
  device.for_each(static_cast<int64_t>(created), block_, [&](int64_t begin, int64_t end) {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      values_.start(new_keys_[i], new_rows_[i]);
    }
  });
  return created;
}

// new_rows_ is in the order of missing_, which ascends; so the rows of the inserted keys go back to the
// positions at which the keys were missing.
size_t TrainedRows::find_or_insert(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) {
  const std::span<const uint32_t> missing = find(keys, device, rows);
  if (missing.empty()) return 0;
  new_keys_.resize(missing.size());
  new_rows_.resize(missing.size());
  for (size_t i = 0; i < missing.size(); ++i) new_keys_[i] = keys[missing[i]];
  insert(new_keys_, device, new_rows_);
  for (size_t i = 0; i < missing.size(); ++i) rows[missing[i]] = new_rows_[i];
  return missing.size();
}

// If memory ends between two keys, those before it are removed again: the caller could not fill their rows.
// New rows do not belong to the running snapshot, which must not copy them.
void TrainedRows::insert(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) {
  try {
    storage_->insert(keys, rows.data(), device);
  } catch (...) {
    storage_->erase(keys);
    throw;
  }
  if (snapshot_) snapshot_->leave_out(keys);
}

// The rows are only counted, so their groups share arrays on the stack.
size_t TrainedRows::num_missing(std::span<const uint64_t> keys) const {
  constexpr size_t kKeysAtOnce = 256;
  std::array<float*, kKeysAtOnce> rows;
  std::array<uint32_t, kKeysAtOnce> missing;
  size_t count = 0;
  for (size_t begin = 0; begin < keys.size(); begin += kKeysAtOnce) {
    const size_t size = std::min(kKeysAtOnce, keys.size() - begin);
    count += storage_->find(keys.subspan(begin, size), rows.data(), missing.data());
  }
  return count;
}

size_t TrainedRows::erase(std::span<const uint64_t> keys) {
  about_to_write(keys);
  return storage_->erase(keys);
}

// ---- updating rows

void TrainedRows::bring_up_to_date(std::span<const uint64_t> keys, std::span<float* const> rows,
                                   Device& device) {
  if (!layout_.stamped()) return;
  write(keys, rows, device, [&](std::span<float* const> block, size_t) {
    for (size_t n = 0; n < block.size(); ++n) {
      if (n + kAhead < block.size()) layout_.prefetch(block[n + kAhead]);
      values_.bring_up_to_date(block[n]);
    }
  });
}

// While a snapshot runs, a single thread alternates between copying kCopied rows and writing them, so that
// the rows are still in the nearest caches when they are written.
template <class Body>
void TrainedRows::write(std::span<const uint64_t> keys, std::span<float* const> rows, Device& device,
                        Body&& body) {
  constexpr size_t kCopied = 256;
  const size_t most = snapshot_ && device.threads() == 1 ? kCopied : std::max<size_t>(1, rows.size());
  for (size_t begin = 0; begin < rows.size(); begin += most) {
    const size_t count = std::min(most, rows.size() - begin);
    about_to_write(keys.subspan(begin, count));
    device.for_each(static_cast<int64_t>(count), block_, [&](int64_t first, int64_t last) {
      const size_t start = begin + static_cast<size_t>(first);
      body(rows.subspan(start, static_cast<size_t>(last - first)), start);
    });
  }
}

void TrainedRows::update(std::span<const uint64_t> keys, std::span<float* const> rows, const float* gradients,
                         float scale, Device& device) {
  const int64_t steps = optimizer_->steps();
  write(keys, rows, device, [&](std::span<float* const> block, size_t first) {
    optimizer_->update_rows(block, layout_.width(), gradients + static_cast<int64_t>(first) * layout_.width(),
                            scale);
    if (!layout_.stamped()) return;
    for (float* row : block) layout_.set_stamp(row, steps);
  });
}

// Loaded weights begin a row anew: its state is the initial one, its history is empty, and its stamp is
// that of the present step, so that no idle steps are applied to the weights.
size_t TrainedRows::load(std::span<const uint64_t> keys, const float* weights, Device& device) {
  std::vector<float*> rows(keys.size());
  const size_t created = find_or_create(keys, device, rows);
  about_to_write(keys);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(weights + static_cast<int64_t>(i) * layout_.width(), layout_.width(), rows[i]);
    optimizer_->initialize(layout_.row(rows[i]));
    if (layout_.has_history()) layout_.set_history(rows[i], {});
    if (layout_.stamped()) layout_.set_stamp(rows[i], optimizer_->steps());
  }
  return created;
}

size_t TrainedRows::restore(const RowBlock& block, Device& device) {
  std::vector<float*> rows(block.size());
  const size_t created = find_or_insert(block.keys, device, rows);
  about_to_write(block.keys);
  for (size_t i = 0; i < rows.size(); ++i) copy_row(layout_, block, i, rows[i]);
  return created;
}

// Several threads may restore at the same time, each another partition.  So this uses none of the lists of
// this object, and there is no snapshot to be told.  Space for the `expected` rows comes first, which saves
// the growth of the index.
void TrainedRows::restore_partition(uint32_t partition, const RowBlock& block, uint64_t expected) {
  PS_CHECK(restores_partitions());
  std::vector<float*> rows(block.size());
  storage_->reserve_in(partition, expected);
  storage_->insert_in(partition, block.keys, rows.data());
  for (size_t i = 0; i < rows.size(); ++i) copy_row(layout_, block, i, rows[i]);
}

// ---- reading

// If all rows of a group are there and none has idle steps to catch up with, the optimizer reads them at
// once.  Otherwise each row is read by itself, and a missing one as it would be made.
void TrainedRows::read(std::span<const uint64_t> keys, float* weights) const {
  constexpr size_t kKeysAtOnce = 256;
  std::array<float*, kKeysAtOnce> found;
  std::array<uint32_t, kKeysAtOnce> missing;
  std::vector<float> scratch(static_cast<size_t>(layout_.values())), copies;
  for (size_t begin = 0; begin < keys.size(); begin += kKeysAtOnce) {
    const size_t count = std::min(kKeysAtOnce, keys.size() - begin);
    const size_t num_missing =
        storage_->find_to_read(keys.subspan(begin, count), found.data(), missing.data(), copies);
    if (num_missing == 0 && !layout_.stamped()) {
      optimizer_->read_rows({found.data(), count}, layout_.width(),
                            weights + begin * static_cast<size_t>(layout_.width()));
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      read_row(keys[begin + i], found[i], scratch,
               weights + (begin + i) * static_cast<size_t>(layout_.width()));
    }
  }
}

// Returns the step up to which a row is read.  A row that has seen all steps but the one that is applied in
// parts may still get a gradient in it, so that step is left out.  No other row gets one.
int64_t TrainedRows::last_step_of(const float* found) const {
  const int64_t steps = optimizer_->steps();
  const bool may_come = in_step_ && found != nullptr && layout_.stamp(found) + 1 == steps;
  return may_come ? steps - 1 : steps;
}

// A row that idle steps change is brought up to date in a copy, so that reading never changes the training.
void TrainedRows::read_row(uint64_t key, float* found, std::span<float> scratch, float* weights) const {
  if (found != nullptr && !layout_.stamped()) return optimizer_->read(layout_.row(found), weights);
  if (found == nullptr && absent_reads_zero_) return void(std::fill_n(weights, layout_.width(), 0.0f));
  const Row<float> copy = layout_.row(scratch.data());
  if (found != nullptr) {
    std::copy_n(found, layout_.values(), scratch.data());
  } else {
    values_.fill(key, copy);
  }
  const int64_t last = last_step_of(found);
  optimizer_->catch_up(copy, found != nullptr ? layout_.stamp(found) : 0, last);
  last < optimizer_->steps() ? optimizer_->read_before(copy, weights) : optimizer_->read(copy, weights);
}

// Rows without a gap, the common case, are appended as they are.  Otherwise keys without a row are dropped
// from both lists before, so that there[i] still belongs to found[i].
void TrainedRows::copy(std::span<const uint64_t> keys, RowBlock& rows) const {
  std::vector<float*> found(keys.size());
  std::vector<uint32_t> missing(keys.size());
  std::vector<float> copies;
  const size_t num_missing = storage_->find_to_read(keys, found.data(), missing.data(), copies);
  rows.clear();
  if (num_missing == 0) return append_rows(layout_, keys, found.data(), rows);
  std::vector<uint64_t> there;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (found[i] != nullptr) there.push_back(keys[i]);
  }
  std::erase(found, nullptr);
  append_rows(layout_, there, found.data(), rows);
}

// Appends kRows rows at a time to the block, and gives it out when it is full.
void TrainedRows::save(uint32_t partition, const KeyLists& lists, size_t at_once,
                       const std::function<void(const RowBlock&)>& take) const {
  constexpr size_t kRows = 256;  // so few at a time that their lines are still in the cache when copied
  const std::vector<uint64_t> keys = keys_of(*storage_, partition, lists);
  std::array<float*, kRows> rows;
  std::array<uint32_t, kRows> missing;
  std::vector<float> copies;
  RowBlock block;
  for (size_t begin = 0; begin < keys.size();) {
    const size_t room = std::min(kRows, at_once - block.size());
    const auto some = std::span(keys).subspan(begin, std::min(room, keys.size() - begin));
    storage_->find_to_read(some, rows.data(), missing.data(), copies);
    append_rows(layout_, some, rows.data(), block);
    begin += some.size();
    if (block.size() < at_once && begin < keys.size()) continue;
    take(block);
    block.clear();
  }
}

// ---- snapshots

void TrainedRows::begin_snapshot(uint64_t max_bytes, SnapshotSink sink) {
  PS_CHECK(!snapshot_);
  snapshot_ = std::make_unique<SparseSnapshot>(layout_, *storage_, max_bytes, std::move(sink));
}

bool TrainedRows::sweep_snapshot(uint64_t rows) {
  if (snapshot_ && !snapshot_->sweep(rows)) end_snapshot();
  return snapshot_ != nullptr;
}

}  // namespace ps
