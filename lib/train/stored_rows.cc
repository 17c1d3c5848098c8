#include "train/stored_rows.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/model/model_format.h"

namespace ps {

namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += cat(i > 0 ? ", " : "", shape[i]);
  return out + "]";
}

[[noreturn]] void fail_shape(const SafetensorsReader& model, const TensorInfo& tensor,
                             const std::string& expected) {
  fail(Code::kUsage, model.path(), ": ", quote(tensor.name), " is ", tensor.dtype, " ",
       shape_text(tensor.shape), ", the job expects ", expected);
}

// Removes extents of 1, since other programs write a column or a row as a vector.
std::vector<int64_t> without_ones(std::vector<int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

}  // namespace

void check_finite_rows(const std::string& parameter, std::span<const uint64_t> keys,
                       std::span<const float> rows) {
  const size_t cols = keys.empty() ? 0 : rows.size() / keys.size();
  for (size_t i = 0; i < keys.size(); ++i) check_finite_row(parameter, keys[i], rows.subspan(i * cols, cols));
}

// Finds the tensors of the parameter, NAME.keys and NAME.rows or NAME alone, and NAME.scales if rows are I8
// with a scale each.  A file without keys must have all rows, count_ = shape.rows; one with keys may have
// any of them.
StoredRows::StoredRows(SafetensorsReader& model, const Shape& shape)
    : model_(model),
      name_(shape.name),
      cols_(shape.cols),
      bound_(static_cast<uint64_t>(shape.rows)),
      keys_(model.find(shape.name + ".keys")),
      scales_(model.find(shape.name + ".scales")) {
  rows_ = model.find(keys_ ? name_ + ".rows" : name_);
  if (rows_ == nullptr) fail(Code::kUsage, model.path(), ": no parameter ", quote(name_));
  count_ = keys_ ? keys_->elements() : shape.rows;
  if (keys_ && (keys_->dtype != "U64" || keys_->shape.size() != 1)) fail_shape(model, *keys_, "U64 keys");
  const std::vector<int64_t> expected = {count_, cols_};
  if (without_ones(rows_->shape) != without_ones(expected)) fail_shape(model, *rows_, shape_text(expected));
  const bool scaled = rows_->dtype == "I8";
  if (!scaled) scales_ = nullptr;
  if (scaled && (scales_ == nullptr || scales_->dtype != "F32" || scales_->elements() != count_)) {
    fail_shape(model, *rows_, "a scale for each row beside it");
  }
}

void StoredRows::read(int64_t first, std::span<uint64_t> keys, std::span<float> rows) {
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint64_t>(first) + i;
  if (keys_) model_.read<uint64_t>(*keys_, first, keys);
  for (uint64_t key : keys) check_key(key);
  if (scales_) {
    read_scaled(first, keys.size(), rows);
  } else {
    model_.read_floats(*rows_, first * cols_, rows);
  }
  check_finite(keys, rows);
}

// Keys must ascend over all calls, since a key that came twice would overwrite a row.
void StoredRows::check_key(uint64_t key) {
  if (last_key_ && key <= *last_key_) {
    fail(Code::kCorrupt, model_.path(), ": keys of ", quote(name_), " do not ascend at ", key);
  }
  last_key_ = key;
  if (bound_ == 0 || key < bound_) return;
  model_.verify(*keys_);  // a damaged file is reported as such, before the job is blamed
  fail(Code::kUsage, model_.path(), ": key ", key, " of ", quote(name_), " is outside the job's ", bound_);
}

// A weight that is not finite may come from damaged bytes, so the checksums are verified before the model
// is blamed.
void StoredRows::check_finite(std::span<const uint64_t> keys, std::span<const float> rows) {
  try {
    check_finite_rows(name_, keys, rows);
  } catch (const Error& error) {
    model_.verify(*rows_);
    if (scales_) model_.verify(*scales_);
    throw error.within(model_.path());
  }
}

//   rows [count, cols] <- units [count, cols], as int8, times scales [count]
void StoredRows::read_scaled(int64_t first, size_t count, std::span<float> rows) {
  std::vector<int8_t> units(rows.size());
  std::vector<float> scales(count);
  model_.read<int8_t>(*rows_, first * cols_, units);
  model_.read<float>(*scales_, first, scales);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<float>(units[i]) * scales[i / static_cast<size_t>(cols_)];
  }
}

}  // namespace ps
