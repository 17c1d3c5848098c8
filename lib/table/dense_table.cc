#include "table/dense_table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

// Weights that one thread updates at a time.
static constexpr int64_t kFloatsAtOnce = 4096;

// Sets the state of some rows as training begins with it.
static void reset_state(Optimizer<float>* optimizer, const DenseArrays& arrays, int64_t first, int64_t count,
                        Device& device) {
  if (optimizer == nullptr) return;
  const int64_t start = first * arrays.cols();
  device.for_each(count * arrays.cols(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    optimizer->initialize(arrays.block(start + begin, start + end));
  });
}

DenseTable::DenseTable(const BlockCyclicRows& blocks, int64_t cols, const Initializer& initializer,
                       std::unique_ptr<Optimizer<float>> optimizer, Device& device)
    : blocks_(blocks),
      optimizer_(std::move(optimizer)),
      arrays_(blocks.own_rows(), cols, optimizer_ ? optimizer_->state_arrays() : 0) {
  const int64_t rows_at_once = std::max<int64_t>(1, kFloatsAtOnce / width());
  device.for_each(arrays_.rows(), rows_at_once, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      initializer.fill(static_cast<uint64_t>(blocks_.global(r)),
                       {arrays_.row(r), static_cast<size_t>(width())}, device.cpu());
    }
  });
  reset_state(optimizer_.get(), arrays_, 0, arrays_.rows(), device);
}

uint64_t DenseTable::memory_bytes() const {
  return arrays_.num_floats() * sizeof(float) + (snapshot_ ? snapshot_->memory_bytes() : 0);
}

// Returns the owner's number of the row of a key, which this owner must have.
int64_t DenseTable::own_row(uint64_t key) const {
  const int64_t row = static_cast<int64_t>(key);
  const int64_t own = blocks_.num_owners == 1 ? row : blocks_.local(row);
  // The reader of data refuses ids outside dim, and a shard refuses keys of other shards.
  PS_CHECK(own >= 0 && own < arrays_.rows());
  return own;
}

// ---- by key

void DenseTable::pull(std::span<const uint64_t> keys, Device&, std::span<float*> rows) {
  for (size_t n = 0; n < keys.size(); ++n) rows[n] = arrays_.row(own_row(keys[n]));
}

void DenseTable::push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                      double learning_rate, Device& device) {
  PS_CHECK(rows.size() == plan.keys.size());
  const KeyedGradients piece{plan.keys, rows, gradients};
  push({&piece, 1}, scale, learning_rate, device);
}

// Every weight takes a step, so the loop goes over the whole table in blocks of rows.  It first sorts all
// (row, gradient) pairs of the pieces by row; each block then finds its pairs by binary search, copies their
// gradients between zeros, and updates all of its rows at once.
void DenseTable::push(std::span<const KeyedGradients> pieces, float scale, double learning_rate,
                      Device& device) {
  about_to_write();
  optimizer_->begin_step(learning_rate);
  size_t num_touched = 0;
  for (const KeyedGradients& piece : pieces) num_touched += piece.rows.size();
  std::vector<std::pair<int64_t, const float*>> touched;
  touched.reserve(num_touched);
  for (const KeyedGradients& piece : pieces) {
    const float* gradient = piece.gradients;
    for (float* row : piece.rows) {
      touched.push_back({(row - arrays_.row(0)) / width(), gradient});
      gradient += width();
    }
  }
  std::ranges::sort(touched, {}, &std::pair<int64_t, const float*>::first);
  const int64_t rows_at_once = std::max<int64_t>(1, kFloatsAtOnce / width());
  device.for_each(arrays_.rows(), rows_at_once, [&](int64_t begin, int64_t end) {
    std::vector<float> gradient(static_cast<size_t>((end - begin) * width()), 0.0f);
    auto next = std::ranges::lower_bound(touched, begin, {}, &std::pair<int64_t, const float*>::first);
    for (; next != touched.end() && next->first < end; ++next) {
      std::copy_n(next->second, width(), gradient.data() + (next->first - begin) * width());
    }
    optimizer_->update(arrays_.block(begin * width(), end * width()), gradient.data(), scale);
  });
}

void DenseTable::read_rows(std::span<const uint64_t> keys, float* weights) const {
  for (uint64_t key : keys) {
    read_range(own_row(key), 1, weights);
    weights += width();
  }
}

void DenseTable::load_rows(std::span<const uint64_t> keys, const float* weights, Device& device) {
  for (uint64_t key : keys) {
    load_range(own_row(key), 1, weights, device);
    weights += width();
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
  return arrays_.row(0);
}

void DenseTable::push_all(const float* gradient, float scale, double learning_rate, Device& device) {
  begin_step(learning_rate);
  push_range(0, arrays_.num_weights(), gradient, scale, device);
}

void DenseTable::begin_step(double learning_rate) {
  about_to_write();
  optimizer_->begin_step(learning_rate);
}

void DenseTable::push_range(int64_t first, int64_t count, const float* gradient, float scale,
                            Device& device) {
  device.for_each(count, kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    optimizer_->update(arrays_.block(first + begin, first + end), gradient + begin, scale);
  });
}

void DenseTable::read_all(float* out, Device& device) const {
  device.for_each(arrays_.num_weights(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    if (optimizer_) {
      optimizer_->read(arrays_.block(begin, end), out + begin);
    } else {
      std::copy_n(arrays_.weights().data() + begin, end - begin, out + begin);
    }
  });
}

void DenseTable::read_range(int64_t first, int64_t count, float* out) const {
  if (!optimizer_) return copy_range(first, count, out);
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  optimizer_->read(arrays_.block(first * width(), (first + count) * width()), out);
}

void DenseTable::copy_range(int64_t first, int64_t count, float* out) const {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  std::copy_n(arrays_.row(first), count * width(), out);
}

void DenseTable::load_range(int64_t first, int64_t count, const float* weights, Device& device) {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  about_to_write();
  std::copy_n(weights, count * width(), arrays_.row(first));
  reset_state(optimizer_.get(), arrays_, first, count, device);
}

void DenseTable::set_stored(int64_t first, int64_t count, const float* rows) {
  about_to_write();
  arrays_.set_stored(first, count, rows);
}

// ---- checkpoints

void DenseTable::append_row(int64_t row, RowBlock& rows) const {
  rows.keys.push_back(static_cast<uint64_t>(blocks_.global(row)));
  arrays_.append_row(row, rows.values);
}

void DenseTable::save_rows(uint32_t, const KeyLists&, size_t at_once,
                           const std::function<void(const RowBlock&)>& take) const {
  RowBlock block;
  for (int64_t row = 0; row < arrays_.rows(); ++row) {
    append_row(row, block);
    if (block.size() < at_once && row + 1 < arrays_.rows()) continue;
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
    const float* from = std::exchange(values, values + (1 + arrays_.state_arrays()) * width());
    if (blocks_.owner_of(static_cast<int64_t>(key)) != blocks_.owner) continue;
    arrays_.set_row(own_row(key), from);
    ++restored;
  }
  return restored;
}

void DenseTable::begin_snapshot(uint64_t max_bytes, TableSink sink) {
  PS_CHECK(!snapshot_);
  const DenseSnapshot::Parts parts = {arrays_.weights(), arrays_.state()};
  snapshot_sink_ = std::move(sink);
  snapshot_floats_.reserve(arrays_.num_floats());
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
