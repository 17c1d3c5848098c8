#include "model/split_product.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "math/dense_kernels.h"
#include "math/device_kernels.h"
#include "math/gemm.h"

namespace ps {

namespace {

// The limit of the input that a trainer has for a divided layer.  It bounds the memory that a number of rows alone
// makes the other trainers take, before any of the rows has come; messages of any size have the same limit.
constexpr uint64_t kMostInputBytes = uint64_t{256} << 20;

std::string bytes_of(std::span<const float> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// values <- the bytes that another trainer has sent.  Throws kData if their number is wrong.
void copy_floats(int rank, const std::string& bytes, std::span<float> values) {
  if (bytes.size() != values.size_bytes()) {
    fail(Code::kData, "trainer ", rank, " has sent ", bytes.size(), " bytes of a divided layer, expected ",
         values.size_bytes());
  }
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

Matrix<float> reshape(std::vector<float>& values, size_t rows, size_t cols) {
  values.resize(rows * cols);
  return {values.data(), static_cast<int64_t>(rows), static_cast<int64_t>(cols)};
}

Columns<float> columns_of(Matrix<float> m, const ElementRange& range) {
  return columns(m, static_cast<int64_t>(range.begin), static_cast<int64_t>(range.count()));
}

Columns<const float> columns_of(Matrix<const float> m, const ElementRange& range) {
  return columns(m, static_cast<int64_t>(range.begin), static_cast<int64_t>(range.count()));
}

// Returns the matrix in the memory of the device: itself, or the copy that lies there.
Matrix<const float> on(const Device& device, Matrix<const float> m, const DeviceBuffer<float>& copy) {
  return {device.kernels() == nullptr ? m.data : copy.data(), m.rows, m.cols};
}

// Sends the matrix to its place there first.
Matrix<const float> send_to(Device& device, Matrix<const float> m, DeviceBuffer<float>& copy) {
  if (device.kernels() != nullptr) {
    copy.resize(device, m.size());
    device.kernels()->send(copy.data(), m.data, copy.bytes());
  }
  return on(device, m, copy);
}

}  // namespace

// out <- what add_product(sum) adds to a matrix of zeros in the memory of the device.  From another device this comes back,
// and all that was sent there is then free.
template <class Multiply>
void SplitProduct::multiply(Device& device, Matrix<float> out, const Multiply& add_product) {
  Matrix<float> sum = out;
  if (device.kernels() != nullptr) {
    result_there_.resize(device, out.size());
    sum.data = result_there_.data();
  }
  fill_values(device, 0.0f, out.size(), sum.data);
  add_product(sum);
  if (device.kernels() != nullptr) device.kernels()->receive(out.data, sum.data, result_there_.bytes());
}

Matrix<float> SplitProduct::all_rows(std::vector<float>& values, size_t cols) const {
  return reshape(values, ranges_.back().end, cols);
}

// inputs_ [all rows, K] <- the inputs of all trainers, in the order of their ranks.  The trainers first
// exchange their numbers of rows, from which the sizes of all messages follow.  Each then puts its own rows
// in their place, and all_gather fills in the others.
void SplitProduct::gather_inputs(Communicator& trainers, Matrix<const float> in) {
  std::string own;
  put(own, static_cast<uint64_t>(in.rows));
  const uint64_t most_rows = kMostInputBytes / (static_cast<uint64_t>(in.cols) * sizeof(float));
  rows_.clear(), counts_.clear();
  const std::vector<std::string> gathered = trainers.gather(std::move(own));
  for (size_t rank = 0; rank < gathered.size(); ++rank) {
    ByteReader reader(gathered[rank]);
    const uint64_t rows = reader.get<uint64_t>();
    if (!reader.ok() || reader.remaining() > 0)
      fail(Code::kData, "trainer ", rank, " does not say how many rows a divided layer has there");
    if (rows > most_rows) {
      fail(Code::kData, "trainer ", rank, " has ", rows, " rows for a divided layer, expected at most ",
           most_rows, ", which are ", kMostInputBytes >> 20, " MiB: make batches smaller");
    }
    rows_.push_back(rows);
    counts_.push_back(rows * static_cast<size_t>(in.cols));
  }
  ranges_ = parts_of_counts(rows_);
  const Matrix<float> all = all_rows(inputs_, static_cast<size_t>(in.cols));
  const size_t first = ranges_[static_cast<size_t>(trainers.rank())].begin;
  std::copy_n(in.data, in.size(), all.row(static_cast<int64_t>(first)));
  trainers.all_gather(inputs_, counts_);
}

// Each trainer multiplies the rows of all trainers by its own columns: products_ [all rows, own columns].
// For that its columns are copied side by side into own_weight_, which backward reads again.  Then the
// trainers exchange results: trainer r gets the rows ranges_[r] of everybody's products, and adds those
// that come from `rank` to the columns cols_[rank] of its own output.
void SplitProduct::forward(Communicator& trainers, const SplitDevices& devices, Matrix<const float> in,
                           Matrix<const float> weight, Matrix<float> out) {
  gather_inputs(trainers, in);
  cols_ = even_parts(static_cast<size_t>(weight.cols), trainers.size());
  const ElementRange& own = cols_[static_cast<size_t>(trainers.rank())];
  const Matrix<float> slice = reshape(own_weight_, static_cast<size_t>(weight.rows), own.count());
  copy_columns<float>(devices.host, columns_of(weight, own), weight.rows, columns(slice));
  const Matrix<float> products = all_rows(products_, own.count());
  multiply(devices.products, products, [&](Matrix<float> sum) {
    const Matrix<float> inputs = all_rows(inputs_, static_cast<size_t>(in.cols));
    const Matrix<const float> there = send_to(devices.products, inputs, inputs_there_);
    add_product<float>(devices.products, there, send_to(devices.products, slice, weight_there_), sum);
  });
  std::vector<std::string> messages;
  for (const ElementRange& rows : ranges_)
    messages.push_back(
        bytes_of(std::span(products_).subspan(rows.begin * own.count(), rows.count() * own.count())));
  const std::vector<std::string> parts = trainers.all_to_all(std::move(messages));
  std::vector<float> part;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    const Matrix<float> theirs = reshape(part, static_cast<size_t>(out.rows), cols_[rank].count());
    copy_floats(static_cast<int>(rank), parts[rank], part);
    add_columns<float>(devices.host, columns(theirs), out.rows, columns_of(out, cols_[rank]));
  }
}

// The reverse of forward.  The trainers exchange gradients: each sends the columns cols_[r] of its own rows
// to trainer r, so that each has the gradients of its own columns for the rows of all, which take the place
// of products_.  From them it computes
//   own columns of weight_gradient += inputs_ᵀ gradients
//   below_ [all rows, K] = gradients own_weight_ᵀ
// below_ is its part of the gradient of all inputs, a sum over its own columns alone; reduce_scatter adds
// up the parts of all trainers and leaves each the sums of its own rows.  wants_below is the same for all
// trainers, so that none waits for another there.
void SplitProduct::backward(Communicator& trainers, const SplitDevices& devices, Matrix<const float> gradient,
                            Matrix<float> weight_gradient, bool wants_below, Matrix<float> below) {
  std::vector<std::string> messages;
  std::vector<float> part;
  for (const ElementRange& cols : cols_) {
    const Matrix<float> theirs = reshape(part, static_cast<size_t>(gradient.rows), cols.count());
    copy_columns<float>(devices.host, columns_of(gradient, cols), gradient.rows, columns(theirs));
    messages.push_back(bytes_of(part));
  }
  const std::vector<std::string> parts = trainers.all_to_all(std::move(messages));
  const size_t rank = static_cast<size_t>(trainers.rank());
  const ElementRange& own = cols_[rank];
  for (size_t from = 0; from < parts.size(); ++from) {
    const ElementRange& rows = ranges_[from];
    copy_floats(static_cast<int>(from), parts[from],
                std::span(products_).subspan(rows.begin * own.count(), rows.count() * own.count()));
  }
  const size_t depth = static_cast<size_t>(weight_gradient.rows);
  const Matrix<float> gradients = all_rows(products_, own.count());
  std::vector<float> sums;
  const Matrix<float> sum = reshape(sums, depth, own.count());
  multiply(devices.products, sum, [&](Matrix<float> out) {
    const Matrix<const float> inputs = on(devices.products, all_rows(inputs_, depth), inputs_there_);
    add_product_transposed_left<float>(devices.products, inputs,
                                       send_to(devices.products, gradients, products_there_), out);
  });
  add_columns<float>(devices.host, columns(sum), weight_gradient.rows, columns_of(weight_gradient, own));
  if (!wants_below) return;
  const Matrix<float> all_below = all_rows(below_, depth);
  multiply(devices.products, all_below, [&](Matrix<float> out) {
    const Matrix<const float> slice =
        on(devices.products, reshape(own_weight_, depth, own.count()), weight_there_);
    add_product_transposed_right<float>(devices.products, on(devices.products, gradients, products_there_),
                                        slice, out);
  });
  trainers.reduce_scatter(below_, counts_);
  if (!below) return;
  add_scaled_values(devices.host, 1.0f, all_below.row(static_cast<int64_t>(ranges_[rank].begin)),
                    below.size(), below.data);
}

}  // namespace ps
