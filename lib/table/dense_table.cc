#include "table/dense_table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

// Initial weights depend on the number of a row in the whole parameter, so that they are the same however
// many owners share its rows.
DenseTable::DenseTable(const BlockCyclicRows& blocks, int64_t cols, const Initializer& initializer,
                       std::unique_ptr<Optimizer<float>> optimizer, Device& device)
    : blocks_(blocks), optimizer_(std::move(optimizer)), values_(blocks.own_rows(), cols, optimizer_.get()) {
  DenseArrays& arrays = values_.arrays();
  device.for_each(arrays.rows(), dense_rows_at_once(width()), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      initializer.fill(static_cast<uint64_t>(blocks_.global(r)),
                       {arrays.row(r), static_cast<size_t>(width())}, device.cpu());
    }
  });
  values_.reset_state(0, arrays.rows(), device);
}

// Returns the owner's number of the row of a key, which this owner must have.
int64_t DenseTable::own_row(uint64_t key) const {
  const int64_t row = static_cast<int64_t>(key);
  const int64_t own = blocks_.num_owners == 1 ? row : blocks_.local(row);
  // The reader of data refuses ids outside dim, and a shard refuses keys of other shards.
  PS_CHECK(own >= 0 && own < values_.arrays().rows());
  return own;
}

// ---- by key

void DenseTable::pull(std::span<const uint64_t> keys, Device&, std::span<float*> rows) {
  const DenseArrays& arrays = values_.arrays();
  for (size_t n = 0; n < keys.size(); ++n) rows[n] = arrays.row(own_row(keys[n]));
}

// One array of gradients is a single piece.
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
  values_.about_to_write();
  values_.begin_step(learning_rate);
  const DenseArrays& arrays = values_.arrays();
  size_t num_touched = 0;
  for (const KeyedGradients& piece : pieces) num_touched += piece.rows.size();
  std::vector<std::pair<int64_t, const float*>> touched;
  touched.reserve(num_touched);
  for (const KeyedGradients& piece : pieces) {
    const float* gradient = piece.gradients;
    for (float* row : piece.rows) {
      touched.push_back({(row - arrays.row(0)) / width(), gradient});
      gradient += width();
    }
  }
  std::ranges::sort(touched, {}, &std::pair<int64_t, const float*>::first);
  device.for_each(arrays.rows(), dense_rows_at_once(width()), [&](int64_t begin, int64_t end) {
    std::vector<float> gradient(static_cast<size_t>((end - begin) * width()), 0.0f);
    auto next = std::ranges::lower_bound(touched, begin, {}, &std::pair<int64_t, const float*>::first);
    for (; next != touched.end() && next->first < end; ++next) {
      std::copy_n(next->second, width(), gradient.data() + (next->first - begin) * width());
    }
    update_rows_of(*optimizer_, arrays, width(), begin * width(), end * width(), gradient.data(), scale);
  });
  values_.end_step();
}

void DenseTable::read_rows(std::span<const uint64_t> keys, float* weights) const {
  for (uint64_t key : keys) {
    values_.read_range(own_row(key), 1, weights);
    weights += width();
  }
}

void DenseTable::load_rows(std::span<const uint64_t> keys, const float* weights, Device& device) {
  for (uint64_t key : keys) {
    values_.load_range(own_row(key), 1, weights, device);
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

// ---- checkpoints

void DenseTable::append_row(int64_t row, RowBlock& rows) const {
  rows.keys.push_back(static_cast<uint64_t>(blocks_.global(row)));
  values_.arrays().append_row(row, rows.values);
}

void DenseTable::save_rows(uint32_t, const KeyLists&, size_t at_once,
                           const std::function<void(const RowBlock&)>& take) const {
  RowBlock block;
  for (int64_t row = 0; row < values_.arrays().rows(); ++row) {
    append_row(row, block);
    if (block.size() < at_once && row + 1 < values_.arrays().rows()) continue;
    take(block);
    block.clear();
  }
}

void DenseTable::copy_rows(std::span<const uint64_t> keys, RowBlock& rows) const {
  rows.clear();
  for (uint64_t key : keys) append_row(own_row(key), rows);
}

// A block of a checkpoint may have rows of all owners.  This one takes its own; `values` advances past the
// others too.
uint64_t DenseTable::restore_rows(const RowBlock& rows, Device&) {
  values_.about_to_write();
  const float* values = rows.values.data();
  uint64_t restored = 0;
  for (uint64_t key : rows.keys) {
    const float* from = std::exchange(values, values + (1 + values_.arrays().state_arrays()) * width());
    if (blocks_.owner_of(static_cast<int64_t>(key)) != blocks_.owner) continue;
    values_.arrays().set_row(own_row(key), from);
    ++restored;
  }
  return restored;
}

}  // namespace ps
