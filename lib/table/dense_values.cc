#include "table/dense_values.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

// A block is one row to most optimizers, which treat all weights alike.
void update_rows_of(const Optimizer<float>& optimizer, const DenseArrays& arrays, int64_t width,
                    int64_t begin, int64_t end, const float* gradient, float scale) {
  if (!optimizer.depends_on_column()) return optimizer.update(arrays.block(begin, end), gradient, scale);
  PS_CHECK(begin % width == 0 && end % width == 0);
  for (int64_t row = begin; row < end; row += width) {
    optimizer.update(arrays.block(row, row + width), gradient + (row - begin), scale);
  }
}

DenseValues::DenseValues(int64_t rows, int64_t cols, Optimizer<float>* optimizer)
    : optimizer_(optimizer), arrays_(rows, cols, optimizer != nullptr ? optimizer->state_arrays() : 0) {}

uint64_t DenseValues::memory_bytes() const {
  return arrays_.num_floats() * sizeof(float) + (snapshot_ ? snapshot_->memory_bytes() : 0);
}

void DenseValues::reset_state(int64_t first, int64_t count, Device& device) {
  if (optimizer_ == nullptr) return;
  const int64_t start = first * width();
  device.for_each(count * width(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    optimizer_->initialize(arrays_.block(start + begin, start + end));
  });
}

float* DenseValues::values() {
  about_to_write();
  return arrays_.row(0);
}

void DenseValues::push_all(const float* gradient, float scale, double learning_rate, Device& device) {
  begin_step(learning_rate);
  push_range(0, arrays_.num_weights(), gradient, scale, device);
}

void DenseValues::begin_step(double learning_rate) {
  about_to_write();
  optimizer_->begin_step(learning_rate);
}

void DenseValues::push_range(int64_t first, int64_t count, const float* gradient, float scale,
                             Device& device) {
  device.for_each(count, dense_rows_at_once(width()) * width(), [&](int64_t begin, int64_t end) {
    update_rows_of(*optimizer_, arrays_, width(), first + begin, first + end, gradient + begin, scale);
  });
}

void DenseValues::read_all(float* out, Device& device) const {
  device.for_each(arrays_.num_weights(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    if (optimizer_ != nullptr) {
      optimizer_->read(arrays_.block(begin, end), out + begin);
    } else {
      std::copy_n(arrays_.weights().data() + begin, end - begin, out + begin);
    }
  });
}

void DenseValues::read_range(int64_t first, int64_t count, float* out) const {
  if (optimizer_ == nullptr) return copy_range(first, count, out);
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  optimizer_->read(arrays_.block(first * width(), (first + count) * width()), out);
}

void DenseValues::copy_range(int64_t first, int64_t count, float* out) const {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  std::copy_n(arrays_.row(first), count * width(), out);
}

void DenseValues::load_range(int64_t first, int64_t count, const float* weights, Device& device) {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  about_to_write();
  std::copy_n(weights, count * width(), arrays_.row(first));
  reset_state(first, count, device);
}

void DenseValues::set_stored(int64_t first, int64_t count, const float* rows) {
  about_to_write();
  arrays_.set_stored(first, count, rows);
}

// ---- snapshots

// The sink of a dense table takes all floats at once, so the pieces that the sweep gives out are put
// together in snapshot_floats_.
void DenseValues::begin_snapshot(uint64_t max_bytes, TableSink sink) {
  PS_CHECK(!snapshot_);
  const DenseSnapshot::Parts parts = {arrays_.weights(), arrays_.state()};
  snapshot_sink_ = std::move(sink);
  snapshot_floats_.reserve(arrays_.num_floats());
  snapshot_ =
      std::make_unique<DenseSnapshot>(parts, max_bytes, [this](uint64_t, std::span<const float> some) {
        snapshot_floats_.insert(snapshot_floats_.end(), some.begin(), some.end());
      });
}

// A call does work as long as it takes to copy `rows` rows of a sparse table, so that callers treat all
// tables alike.
bool DenseValues::sweep_snapshot(uint64_t rows) {
  constexpr uint64_t kFloatsARow = 256;  // copying so many floats takes as long as copying a sparse row
  if (!snapshot_) return false;
  if (snapshot_->sweep(rows * kFloatsARow)) return true;
  snapshot_sink_.whole(std::exchange(snapshot_floats_, {}));
  end_snapshot();
  return false;
}

void DenseValues::end_snapshot() {
  snapshot_.reset();
  snapshot_floats_ = {};
  snapshot_sink_ = {};
}

}  // namespace ps
