// DenseArrays: the floats of a dense table: its weights, and the state arrays of its optimizer.  Used by
// DenseTable, which owns one.
#ifndef PS_TABLE_DENSE_ARRAYS_H_
#define PS_TABLE_DENSE_ARRAYS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "optim/optimizer.h"

namespace ps {

// weights [rows, cols], then state [state arrays, rows, cols].  Used by the owner thread, or by threads that
// work on different rows.
class DenseArrays {
 public:
  // The floats are not set.
  DenseArrays(int64_t rows, int64_t cols, int state_arrays);

  // Returns the bytes that arrays of this shape take, at most UINT64_MAX.
  static uint64_t bytes_needed(int64_t rows, int64_t cols, int state_arrays);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  int state_arrays() const { return state_arrays_; }
  int64_t num_weights() const { return rows_ * cols_; }
  uint64_t num_floats() const {
    return static_cast<uint64_t>(num_weights()) * static_cast<uint64_t>(1 + state_arrays_);
  }

  float* row(int64_t row) const { return weights_.get() + row * cols_; }
  std::span<const float> weights() const { return {weights_.get(), static_cast<size_t>(num_weights())}; }
  std::span<const float> state() const {
    return {state_.get(), static_cast<size_t>(num_floats()) - static_cast<size_t>(num_weights())};
  }

  // Returns the weights [begin, end) with their state, if there is any, for the optimizer.
  Row<float> block(int64_t begin, int64_t end) const {
    return {weights_.get() + begin, state_ ? state_.get() + begin : nullptr, end - begin, num_weights()};
  }

  // One row as it is stored: its weights, then its part of each state array; (1 + state arrays) * cols floats.
  void append_row(int64_t row, std::vector<float>& floats) const;
  void set_row(int64_t row, const float* floats);

  // Rows numbered as WholeTable numbers stored rows: first the rows of the weights, then those of each state
  // array.  Aborts if there are not so many.
  int64_t num_stored_rows() const { return rows_ * (1 + state_arrays_); }
  void copy_stored(int64_t first, int64_t count, float* out) const;
  void set_stored(int64_t first, int64_t count, const float* rows);

 private:
  const int64_t rows_, cols_;
  const int state_arrays_;
  std::unique_ptr<float[]> weights_, state_;
};

}  // namespace ps

#endif  // PS_TABLE_DENSE_ARRAYS_H_
