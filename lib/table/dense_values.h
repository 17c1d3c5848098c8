// DenseValues: the values of a dense table, accessed by the numbers of its rows, and its snapshots.  Used by
// DenseTable, which accesses them by key.
#ifndef PS_TABLE_DENSE_VALUES_H_
#define PS_TABLE_DENSE_VALUES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "optim/optimizer.h"
#include "table/dense_arrays.h"
#include "table/dense_snapshot.h"
#include "table/table.h"

namespace ps {

// The largest number of weights that one thread updates at a time, unless a row has more.
inline constexpr int64_t kFloatsAtOnce = 4096;

// Returns how many rows of this width these are, at least one.  Steps in several parts end them where such blocks end.
inline int64_t dense_rows_at_once(int64_t width) {
  return width > kFloatsAtOnce ? 1 : kFloatsAtOnce / width;
}

// Applies the step begun last to weights [begin, end) of the arrays, whole rows of `width`, with their gradient.
void update_rows_of(const Optimizer<float>& optimizer, const DenseArrays& arrays, int64_t width,
                    int64_t begin, int64_t end, const float* gradient, float scale);

// Owner thread only; work is shared over the device by blocks of fixed size.
class DenseValues final : public WholeTable {
 public:
  // The values are not set.  `optimizer`, which updates them and outlives this, is null for a statistic.
  DenseValues(int64_t rows, int64_t cols, Optimizer<float>* optimizer);

  DenseArrays& arrays() { return arrays_; }
  const DenseArrays& arrays() const { return arrays_; }
  uint64_t memory_bytes() const;

  // To be called before values are written through arrays(), by steps among others: the running snapshot copies them.
  void about_to_write() {
    if (snapshot_) snapshot_->keep_all();
  }

  // Sets the state of rows [first, first + count) to its value at the beginning of training.
  void reset_state(int64_t first, int64_t count, Device& device);

  // A step may come in ascending ranges between begin_step and end_step; what they have not reached yet reads as before it.
  void begin_step(double learning_rate);
  void end_step() { stepped_ = arrays_.num_weights(); }
  float* values() override;
  void push_all(const float* gradient, float scale, double learning_rate, Device& device) override;
  void push_range(int64_t first, int64_t count, const float* gradient, float scale, Device& device) override;
  void read_all(float* out, Device& device) const override;
  void read_range(int64_t first, int64_t count, float* out) const override;
  void copy_range(int64_t first, int64_t count, float* out) const override;
  void load_range(int64_t first, int64_t count, const float* weights, Device& device) override;
  int64_t num_stored_rows() const override { return arrays_.num_stored_rows(); }
  void copy_stored(int64_t first, int64_t count, float* out) const override {
    arrays_.copy_stored(first, count, out);
  }
  void set_stored(int64_t first, int64_t count, const float* rows) override;

  // These work as in Table.  A snapshot holds no more than the floats that its sink gets.
  void begin_snapshot(TableSink sink);
  bool sweep_snapshot(uint64_t rows);
  void end_snapshot();
  bool has_snapshot() const { return snapshot_ != nullptr; }

  // Returns the number of blocks that the running snapshot has copied before they were written.
  uint64_t num_snapshot_copies() const { return snapshot_ ? snapshot_->num_copies() : 0; }

 private:
  void about_to_write(int64_t first, int64_t count);
  void read_block(int64_t begin, int64_t end, float* out) const;
  int64_t width() const { return arrays_.cols(); }

  Optimizer<float>* const optimizer_;
  DenseArrays arrays_;
  int64_t stepped_;  // weights below have made the step begun last

  std::unique_ptr<DenseSnapshot> snapshot_;  // the running one, or null
  std::vector<float> snapshot_floats_;       // the floats that it has given so far
  TableSink snapshot_sink_;
};

}  // namespace ps

#endif  // PS_TABLE_DENSE_VALUES_H_
