#include "table/dense_table.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

// Weights that one thread moves at a time.
static constexpr int64_t kFloatsAtOnce = 4096;

DenseTable::DenseTable(int64_t rows, int64_t cols, const Initializer& initializer,
                       std::unique_ptr<Optimizer<float>> optimizer, ThreadPool& pool)
    : DenseTable(BlockCyclicRows::whole(rows), cols, initializer, std::move(optimizer), pool) {}

DenseTable::DenseTable(const BlockCyclicRows& deal, int64_t cols, const Initializer& initializer,
                       std::unique_ptr<Optimizer<float>> optimizer, ThreadPool& pool)
    : rows_(deal.own_rows()), cols_(cols), optimizer_(std::move(optimizer)) {
  size_t count = static_cast<size_t>(size());
  values_ = std::make_unique_for_overwrite<float[]>(count);
  if (optimizer_)
    state_ = std::make_unique_for_overwrite<float[]>(count * static_cast<size_t>(optimizer_->state_arrays()));
  int64_t rows_at_once = std::max<int64_t>(1, kFloatsAtOnce / cols_);
  pool.for_each(rows_, rows_at_once, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      initializer.fill(static_cast<uint64_t>(deal.global(r)),
                       {values_.get() + r * cols_, static_cast<size_t>(cols_)});
    }
  });
  reset_state(pool);
}

uint64_t DenseTable::bytes_needed(int64_t rows, int64_t cols, int state_arrays) {
  __extension__ unsigned __int128 bytes = static_cast<unsigned __int128>(rows) * static_cast<uint64_t>(cols) *
                                          static_cast<uint64_t>(1 + state_arrays) * sizeof(float);
  return bytes > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(bytes);
}

uint64_t DenseTable::memory_bytes() const {
  return floats() * sizeof(float) + (snapshot_ ? snapshot_->memory_bytes() : 0);
}

uint64_t DenseTable::floats() const {
  return static_cast<uint64_t>(size()) *
         static_cast<uint64_t>(1 + (optimizer_ ? optimizer_->state_arrays() : 0));
}

float* DenseTable::values() {
  about_to_write();
  return values_.get();
}

Row<float> DenseTable::block(int64_t begin, int64_t end) const {
  return {values_.get() + begin, state_.get() + begin, end - begin, size()};
}

void DenseTable::reset_state(ThreadPool& pool) {
  if (!optimizer_) return;
  about_to_write();
  pool.for_each(size(), kFloatsAtOnce,
                [&](int64_t begin, int64_t end) { optimizer_->initialize(block(begin, end)); });
}

void DenseTable::reset_range(int64_t first, int64_t count) {
  if (!optimizer_) return;
  about_to_write();
  optimizer_->initialize(block(first * cols_, (first + count) * cols_));
}

void DenseTable::push(const float* gradient, float scale, double learning_rate, ThreadPool& pool) {
  about_to_write();
  optimizer_->begin_step(learning_rate);
  pool.for_each(size(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    optimizer_->update(block(begin, end), gradient + begin, scale);
  });
}

void DenseTable::pull_rows(const KeyPlan& plan, std::vector<float*>& rows) {
  rows.resize(plan.keys.size());
  for (size_t n = 0; n < rows.size(); ++n) {
    PS_CHECK(plan.keys[n] < static_cast<uint64_t>(rows_));  // the reader refuses ids outside dim
    rows[n] = values_.get() + static_cast<int64_t>(plan.keys[n]) * cols_;
  }
}

void DenseTable::read_rows(const KeyPlan& plan, std::vector<float>& copies, std::vector<float*>& rows) const {
  rows.resize(plan.keys.size());
  copies.resize(rows.size() * static_cast<size_t>(cols_));
  for (size_t n = 0; n < rows.size(); ++n) {
    rows[n] = copies.data() + static_cast<int64_t>(n) * cols_;
    int64_t begin = static_cast<int64_t>(plan.keys[n]) * cols_;
    PS_CHECK(begin + cols_ <= size());
    optimizer_->read(block(begin, begin + cols_), rows[n]);
  }
}

// Sweeps the table in blocks of rows; each block's gradient is gathered from the plan, whose rows are found
// through the list of (row, position) sorted by row.
void DenseTable::push_rows(const KeyPlan& plan, const float* gradients, float scale, double learning_rate,
                           ThreadPool& pool) {
  about_to_write();
  optimizer_->begin_step(learning_rate);
  std::vector<std::pair<int64_t, int64_t>> touched(plan.keys.size());
  for (size_t n = 0; n < touched.size(); ++n) {
    touched[n] = {static_cast<int64_t>(plan.keys[n]), static_cast<int64_t>(n)};
  }
  std::sort(touched.begin(), touched.end());
  int64_t rows_at_once = std::max<int64_t>(1, kFloatsAtOnce / cols_);
  pool.for_each(rows_, rows_at_once, [&](int64_t begin, int64_t end) {
    std::vector<float> gradient(static_cast<size_t>((end - begin) * cols_), 0.0f);
    auto next = std::lower_bound(touched.begin(), touched.end(), std::pair<int64_t, int64_t>(begin, 0));
    for (; next != touched.end() && next->first < end; ++next) {
      std::copy_n(gradients + next->second * cols_, cols_, gradient.data() + (next->first - begin) * cols_);
    }
    optimizer_->update(block(begin * cols_, end * cols_), gradient.data(), scale);
  });
}

void DenseTable::read(float* out, ThreadPool& pool) const {
  pool.for_each(size(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    if (optimizer_) {
      optimizer_->read(block(begin, end), out + begin);
    } else if (out != values_.get()) {
      std::copy(values_.get() + begin, values_.get() + end, out + begin);
    }
  });
}

void DenseTable::read_range(int64_t first, int64_t count, float* out) const {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= rows_);
  int64_t begin = first * cols_, end = begin + count * cols_;
  if (optimizer_) {
    optimizer_->read(block(begin, end), out);
  } else {
    std::copy(values_.get() + begin, values_.get() + end, out);
  }
}

void DenseTable::begin_snapshot(uint64_t max_bytes, DenseSink sink) {
  PS_CHECK(!snapshot_);
  const size_t weights = static_cast<size_t>(size());
  const DenseSnapshot::Parts parts = {std::span<const float>(values_.get(), weights),
                                      std::span<const float>(state_.get(), floats() - weights)};
  snapshot_ = std::make_unique<DenseSnapshot>(parts, max_bytes, std::move(sink));
}

bool DenseTable::sweep_snapshot(uint64_t floats) {
  if (snapshot_ && !snapshot_->sweep(floats)) end_snapshot();
  return snapshot_ != nullptr;
}

void DenseTable::restore(uint64_t first, std::span<const float> floats) {
  const uint64_t weights = static_cast<uint64_t>(size());
  PS_CHECK(first <= this->floats() && floats.size() <= this->floats() - first);
  about_to_write();
  const size_t own = first < weights ? std::min<size_t>(floats.size(), weights - first) : 0;
  if (own > 0) std::copy_n(floats.data(), own, values_.get() + first);
  if (own < floats.size()) {
    std::copy_n(floats.data() + own, floats.size() - own, state_.get() + (first + own - weights));
  }
}

void DenseTable::save_rows(int64_t first, int64_t count, std::vector<float>& values) const {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= rows_);
  values.clear();
  for (int64_t begin = first * cols_; begin < (first + count) * cols_; begin += cols_) {
    values.insert(values.end(), values_.get() + begin, values_.get() + begin + cols_);
    for (int array = 0; array < state_arrays(); ++array) {
      const float* state = state_.get() + array * size() + begin;
      values.insert(values.end(), state, state + cols_);
    }
  }
}

void DenseTable::restore_row(int64_t row, const float* values) {
  PS_CHECK(row >= 0 && row < rows_);
  about_to_write();
  std::copy_n(values, cols_, values_.get() + row * cols_);
  for (int array = 0; array < state_arrays(); ++array) {
    std::copy_n(values + (1 + array) * cols_, cols_, state_.get() + array * size() + row * cols_);
  }
}

}  // namespace ps
