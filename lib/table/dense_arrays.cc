#include "table/dense_arrays.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

DenseArrays::DenseArrays(int64_t rows, int64_t cols, int state_arrays)
    : rows_(rows),
      cols_(cols),
      state_arrays_(state_arrays),
      weights_(std::make_unique_for_overwrite<float[]>(static_cast<size_t>(rows * cols))) {
  if (state_arrays == 0) return;
  state_ = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(rows * cols) *
                                                   static_cast<size_t>(state_arrays));
}

// The product may not fit into 64 bits, since rows and columns come from a job file; the largest number
// then stands for it.
uint64_t DenseArrays::bytes_needed(int64_t rows, int64_t cols, int state_arrays) {
  __extension__ unsigned __int128 bytes = static_cast<unsigned __int128>(rows) * static_cast<uint64_t>(cols) *
                                          static_cast<uint64_t>(1 + state_arrays) * sizeof(float);
  return bytes > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(bytes);
}

// Weights and state are separate arrays, so a whole row is gathered from 1 + state_arrays_ places.
void DenseArrays::append_row(int64_t row, std::vector<float>& floats) const {
  const float* weights = this->row(row);
  floats.insert(floats.end(), weights, weights + cols_);
  for (int array = 0; array < state_arrays_; ++array) {
    const float* state = state_.get() + array * num_weights() + row * cols_;
    floats.insert(floats.end(), state, state + cols_);
  }
}

void DenseArrays::set_row(int64_t row, const float* floats) {
  std::copy_n(floats, cols_, this->row(row));
  for (int array = 0; array < state_arrays_; ++array) {
    std::copy_n(floats + (1 + array) * cols_, cols_, state_.get() + array * num_weights() + row * cols_);
  }
}

// Weights and state are two arrays: the rows of the first are copied, then those of the second.
void DenseArrays::copy_stored(int64_t first, int64_t count, float* out) const {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= num_stored_rows());
  const int64_t weights = std::clamp<int64_t>(rows_ - first, 0, count);
  out = std::copy_n(row(std::min(first, rows_)), weights * cols_, out);
  if (count == weights) return;
  std::copy_n(state_.get() + (first + weights - rows_) * cols_, (count - weights) * cols_, out);
}

void DenseArrays::set_stored(int64_t first, int64_t count, const float* rows) {
  PS_CHECK(first >= 0 && count >= 0 && first + count <= num_stored_rows());
  const int64_t weights = std::clamp<int64_t>(rows_ - first, 0, count);
  std::copy_n(rows, weights * cols_, row(std::min(first, rows_)));
  if (count == weights) return;
  std::copy_n(rows + weights * cols_, (count - weights) * cols_,
              state_.get() + (first + weights - rows_) * cols_);
}

}  // namespace ps
