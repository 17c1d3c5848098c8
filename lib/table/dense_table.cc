#include "table/dense_table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

// Weights that one thread updates at a time.
static constexpr int64_t kFloatsAtOnce = 4096;

DenseTable::DenseTable(int64_t rows, int64_t cols, const Initializer& initializer,
                       std::unique_ptr<Optimizer<float>> optimizer, Device& device)
    : DenseTable(BlockCyclicRows::whole(rows), cols, initializer, std::move(optimizer), device) {}

DenseTable::DenseTable(const BlockCyclicRows& blocks, int64_t cols, const Initializer& initializer,
                       std::unique_ptr<Optimizer<float>> optimizer, Device& device)
    : blocks_(blocks), rows_(blocks.own_rows()), cols_(cols), optimizer_(std::move(optimizer)) {
  const size_t count = static_cast<size_t>(num_weights());
  values_ = std::make_unique_for_overwrite<float[]>(count);
  if (optimizer_)
    state_ = std::make_unique_for_overwrite<float[]>(count * static_cast<size_t>(optimizer_->state_arrays()));
  const int64_t rows_at_once = std::max<int64_t>(1, kFloatsAtOnce / cols_);
  device.for_each(rows_, rows_at_once, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      initializer.fill(static_cast<uint64_t>(blocks_.global(r)),
                       {values_.get() + r * cols_, static_cast<size_t>(cols_)});
    }
  });
  reset_state(0, rows_, device);
}

uint64_t DenseTable::bytes_needed(int64_t rows, int64_t cols, int state_arrays) {
  __extension__ unsigned __int128 bytes = static_cast<unsigned __int128>(rows) * static_cast<uint64_t>(cols) *
                                          static_cast<uint64_t>(1 + state_arrays) * sizeof(float);
  return bytes > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(bytes);
}

uint64_t DenseTable::memory_bytes() const {
  return num_floats() * sizeof(float) + (snapshot_ ? snapshot_->memory_bytes() : 0);
}

uint64_t DenseTable::num_floats() const {
  return static_cast<uint64_t>(num_weights()) * static_cast<uint64_t>(1 + state_arrays());
}

// Returns the owner's number of the row of a key, which this owner must have.
int64_t DenseTable::own_row(uint64_t key) const {
  const int64_t row = static_cast<int64_t>(key);
  const int64_t own = blocks_.num_owners == 1 ? row : blocks_.local(row);
  PS_CHECK(
      own >= 0 &&
      own < rows_);  // the reader of data refuses ids outside dim, and a shard refuses keys of other shards
  return own;
}

Row<float> DenseTable::block(int64_t begin, int64_t end) const {
  return {values_.get() + begin, state_.get() + begin, end - begin, num_weights()};
}

void DenseTable::reset_state(int64_t first, int64_t count, Device& device) {
  if (!optimizer_) return;
  const int64_t start = first * cols_;
  device.for_each(count * cols_, kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    optimizer_->initialize(block(start + begin, start + end));
  });
}

// ---- by key

void DenseTable::pull(std::span<const uint64_t> keys, Device&, std::span<float*> rows) {
  for (size_t n = 0; n < keys.size(); ++n) rows[n] = values_.get() + own_row(keys[n]) * cols_;
}

void DenseTable::push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                      double learning_rate, Device& device) {
  PS_CHECK(rows.size() == plan.keys.size());
  const GradientPiece piece{plan.keys, rows, gradients};
  push({&piece, 1}, scale, learning_rate, device);
}

// Every weight takes a step, so the loop goes over the whole table in blocks of rows.  It first sorts all
// (row, gradient) pairs of the pieces by row; each block then finds its pairs by binary search, copies their
// gradients between zeros, and updates all of its rows at once.
void DenseTable::push(std::span<const GradientPiece> pieces, float scale, double learning_rate,
                      Device& device) {
  about_to_write();
  optimizer_->begin_step(learning_rate);
  size_t num_touched = 0;
  for (const GradientPiece& piece : pieces) num_touched += piece.rows.size();
  std::vector<std::pair<int64_t, const float*>> touched;
  touched.reserve(num_touched);
  for (const GradientPiece& piece : pieces) {
    const float* gradient = piece.gradients;
    for (float* row : piece.rows) {
      touched.push_back({(row - values_.get()) / cols_, gradient});
      gradient += cols_;
    }
  }
  std::ranges::sort(touched, {}, &std::pair<int64_t, const float*>::first);
  const int64_t rows_at_once = std::max<int64_t>(1, kFloatsAtOnce / cols_);
  device.for_each(rows_, rows_at_once, [&](int64_t begin, int64_t end) {
    std::vector<float> gradient(static_cast<size_t>((end - begin) * cols_), 0.0f);
    auto next = std::ranges::lower_bound(touched, begin, {}, &std::pair<int64_t, const float*>::first);
    for (; next != touched.end() && next->first < end; ++next) {
      std::copy_n(next->second, cols_, gradient.data() + (next->first - begin) * cols_);
    }
    optimizer_->update(block(begin * cols_, end * cols_), gradient.data(), scale);
  });
}

void DenseTable::read_rows(std::span<const uint64_t> keys, float* weights) const {
  for (uint64_t key : keys) {
    read_range(own_row(key), 1, weights);
    weights += cols_;
  }
}

void DenseTable::load_rows(std::span<const uint64_t> keys, const float* weights, Device& device) {
  for (uint64_t key : keys) {
    load_range(own_row(key), 1, weights, device);
    weights += cols_;
  }
}

bool DenseTable::scan_keys(ScanCursor& cursor, std::vector<uint64_t>& keys) const {
  constexpr uint64_t kAtOnce = 1024;
  const uint64_t end = std::min(cursor.position + kAtOnce, size());
  if (cursor.position >= end) return false;
  for (; cursor.position < end; ++cursor.position) {
    keys.push_back(static_cast<uint64_t>(blocks_.global(static_cast<int64_t>(cursor.position))));
  }
  return true;
}

std::vector<uint64_t> DenseTable::sorted_keys() const {
  std::vector<uint64_t> keys;
  for (ScanCursor cursor; scan_keys(cursor, keys);) continue;
  return keys;
}

// ---- by number

float* DenseTable::values() {
  about_to_write();
  return values_.get();
}

void DenseTable::push_all(const float* gradient, float scale, double learning_rate, Device& device) {
  about_to_write();
  optimizer_->begin_step(learning_rate);
  device.for_each(num_weights(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    optimizer_->update(block(begin, end), gradient + begin, scale);
  });
}

void DenseTable::read_all(float* out, Device& device) const {
  device.for_each(num_weights(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    if (optimizer_) {
      optimizer_->read(block(begin, end), out + begin);
    } else {
      std::copy(values_.get() + begin, values_.get() + end, out + begin);
    }
  });
}

void DenseTable::read_range(int64_t first, int64_t count, float* out) const {
  if (!optimizer_) return copy_range(first, count, out);
  PS_CHECK(first >= 0 && count >= 0 && first + count <= rows_);
  optimizer_->read(block(first * cols_, (first + count) * cols_), out);
}

void DenseTable::copy_range(int64_t first, int64_t count, float* out) const {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= rows_);
  std::copy_n(values_.get() + first * cols_, count * cols_, out);
}

void DenseTable::load_range(int64_t first, int64_t count, const float* weights, Device& device) {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= rows_);
  about_to_write();
  std::copy_n(weights, count * cols_, values_.get() + first * cols_);
  reset_state(first, count, device);
}

// Weights and state are two arrays: the rows of the first are copied, then those of the second.
void DenseTable::copy_stored(int64_t first, int64_t count, float* out) const {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= num_stored_rows());
  const int64_t weights = std::clamp<int64_t>(rows_ - first, 0, count);
  out = std::copy_n(values_.get() + std::min(first, rows_) * cols_, weights * cols_, out);
  if (count == weights) return;
  std::copy_n(state_.get() + (first + weights - rows_) * cols_, (count - weights) * cols_, out);
}

void DenseTable::set_stored(int64_t first, int64_t count, const float* rows) {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= num_stored_rows());
  about_to_write();
  const int64_t weights = std::clamp<int64_t>(rows_ - first, 0, count);
  std::copy_n(rows, weights * cols_, values_.get() + std::min(first, rows_) * cols_);
  if (count == weights) return;
  std::copy_n(rows + weights * cols_, (count - weights) * cols_,
              state_.get() + (first + weights - rows_) * cols_);
}

// ---- checkpoints

// Appends a row to `rows`: its weights, then its state arrays.
void DenseTable::append_row(int64_t row, RowBlock& rows) const {
  rows.keys.push_back(static_cast<uint64_t>(blocks_.global(row)));
  const float* weights = values_.get() + row * cols_;
  rows.values.insert(rows.values.end(), weights, weights + cols_);
  for (int array = 0; array < state_arrays(); ++array) {
    const float* state = state_.get() + array * num_weights() + row * cols_;
    rows.values.insert(rows.values.end(), state, state + cols_);
  }
}

void DenseTable::save_rows(uint32_t, const KeyLists&, size_t at_once,
                           const std::function<void(const RowBlock&)>& take) const {
  RowBlock block;
  for (int64_t row = 0; row < rows_; ++row) {
    append_row(row, block);
    if (block.size() < at_once && row + 1 < rows_) continue;
    take(block);
    block.clear();
  }
}

void DenseTable::copy_rows(std::span<const uint64_t> keys, RowBlock& rows) const {
  rows.clear();
  for (uint64_t key : keys) append_row(own_row(key), rows);
}

uint64_t DenseTable::restore_rows(const RowBlock& rows, Device&) {
  about_to_write();
  const float* values = rows.values.data();
  uint64_t restored = 0;
  for (uint64_t key : rows.keys) {
    const float* from = std::exchange(values, values + (1 + state_arrays()) * cols_);
    if (blocks_.owner_of(static_cast<int64_t>(key)) != blocks_.owner) continue;
    const int64_t row = own_row(key);
    std::copy_n(from, cols_, values_.get() + row * cols_);
    for (int array = 0; array < state_arrays(); ++array) {
      std::copy_n(from + (1 + array) * cols_, cols_, state_.get() + array * num_weights() + row * cols_);
    }
    ++restored;
  }
  return restored;
}

void DenseTable::begin_snapshot(uint64_t max_bytes, TableSink sink) {
  PS_CHECK(!snapshot_);
  const size_t weights = static_cast<size_t>(num_weights());
  const DenseSnapshot::Parts parts = {std::span<const float>(values_.get(), weights),
                                      std::span<const float>(state_.get(), num_floats() - weights)};
  snapshot_sink_ = std::move(sink);
  snapshot_floats_.reserve(num_floats());
  snapshot_ =
      std::make_unique<DenseSnapshot>(parts, max_bytes, [this](uint64_t, std::span<const float> some) {
        snapshot_floats_.insert(snapshot_floats_.end(), some.begin(), some.end());
      });
}

bool DenseTable::sweep_snapshot(uint64_t rows) {
  constexpr uint64_t kFloatsARow = 256;  // copying so many floats takes as long as copying a sparse row
  if (!snapshot_) return false;
  if (snapshot_->sweep(rows * kFloatsARow)) return true;
  snapshot_sink_.whole(std::exchange(snapshot_floats_, {}));
  end_snapshot();
  return false;
}

void DenseTable::end_snapshot() {
  snapshot_.reset();
  snapshot_floats_ = {};
  snapshot_sink_ = {};
}

}  // namespace ps
