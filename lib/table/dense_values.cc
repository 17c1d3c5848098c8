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
    : optimizer_(optimizer),
      arrays_(rows, cols, optimizer != nullptr ? optimizer->state_arrays() : 0),
      stepped_(arrays_.num_weights()) {}

uint64_t DenseValues::memory_bytes() const {
  return arrays_.num_floats() * sizeof(float);
}

// The same for weights [first, first + count) and their state.
void DenseValues::about_to_write(int64_t first, int64_t count) {
  if (!snapshot_) return;
  const auto from = static_cast<uint64_t>(first), size = static_cast<uint64_t>(count);
  snapshot_->keep(0, from, size);
  for (int array = 0; array < arrays_.state_arrays(); ++array) {
    snapshot_->keep(1, static_cast<uint64_t>(array * arrays_.num_weights()) + from, size);
  }
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
  optimizer_->begin_step(learning_rate);
  stepped_ = 0;
}

void DenseValues::push_range(int64_t first, int64_t count, const float* gradient, float scale,
                             Device& device) {
  about_to_write(first, count);
  device.for_each(count, dense_rows_at_once(width()) * width(), [&](int64_t begin, int64_t end) {
    update_rows_of(*optimizer_, arrays_, width(), first + begin, first + end, gradient + begin, scale);
  });
  stepped_ = first + count;
}

// Reads weights [begin, end): those that have made the step begun last, and behind them those that have not.
void DenseValues::read_block(int64_t begin, int64_t end, float* out) const {
  const int64_t middle = std::clamp(stepped_, begin, end);
  if (middle > begin) optimizer_->read(arrays_.block(begin, middle), out);
  if (end > middle) optimizer_->read_before(arrays_.block(middle, end), out + (middle - begin));
}

void DenseValues::read_all(float* out, Device& device) const {
  device.for_each(arrays_.num_weights(), kFloatsAtOnce, [&](int64_t begin, int64_t end) {
    if (optimizer_ != nullptr) {
      read_block(begin, end, out + begin);
    } else {
      std::copy_n(arrays_.weights().data() + begin, end - begin, out + begin);
    }
  });
}

void DenseValues::read_range(int64_t first, int64_t count, float* out) const {
  if (optimizer_ == nullptr) return copy_range(first, count, out);
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  read_block(first * width(), (first + count) * width(), out);
}

void DenseValues::copy_range(int64_t first, int64_t count, float* out) const {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  std::copy_n(arrays_.row(first), count * width(), out);
}

void DenseValues::load_range(int64_t first, int64_t count, const float* weights, Device& device) {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= arrays_.rows());
  about_to_write(first * width(), count * width());
  std::copy_n(weights, count * width(), arrays_.row(first));
  reset_state(first, count, device);
}

void DenseValues::set_stored(int64_t first, int64_t count, const float* rows) {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= num_stored_rows());
  if (snapshot_) {
    const int64_t of_weights = std::clamp<int64_t>(arrays_.rows() - first, 0, count);
    const auto floats = [this](int64_t n) { return static_cast<uint64_t>(n * width()); };
    snapshot_->keep(0, floats(first), floats(of_weights));
    snapshot_->keep(1, floats(first + of_weights - arrays_.rows()), floats(count - of_weights));
  }
  arrays_.set_stored(first, count, rows);
}

// ---- snapshots

// The sink of a dense table takes all floats at once, so the pieces that the sweep gives out are put
// together in snapshot_floats_.
void DenseValues::begin_snapshot(TableSink sink) {
  PS_CHECK(!snapshot_);
  const DenseSnapshot::Parts parts = {arrays_.weights(), arrays_.state()};
  snapshot_sink_ = std::move(sink);
  snapshot_floats_.reserve(arrays_.num_floats());
  snapshot_ = std::make_unique<DenseSnapshot>(parts, [this](uint64_t, std::span<const float> some) {
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
