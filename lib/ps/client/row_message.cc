#include "ps/client/row_message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "ps/client/row_exchange.h"
#include "table/row_copies.h"

namespace ps {

namespace {

alignas(kFloatAlignment) constexpr std::array<char, kFloatAlignment> kPadding{};

// Gradients of rows from this size on, in bytes, are sent from their own memory, one by one.
constexpr size_t kWorthPointing = 512;

ConstBytes bytes_of(const float* floats, int64_t count) {
  return {reinterpret_cast<const char*>(floats), static_cast<size_t>(count) * sizeof(float)};
}

// Contiguous rows with their residuals, which are null if none are kept.
struct CodedRows {
  const float* values;
  float* residual;
  int64_t count;
};

// Builds one message.  One owner thread.
class RowMessage {
 public:
  RowMessage(const RowMessageContext& context, std::string head, const RowSource& source)
      : context_(context), source_(source), payload_(std::move(head)), memory_(std::make_shared<Memory>()) {
    memory_->head = std::move(payload_.keep);
  }

  // Adds rows by their keys.  Gradients of f32 are sent from their own memory if they are contiguous, or row by
  // row if the rows are wide.  All others are copied and encoded in the order of the keys.
  void add_keyed(const RoutedRows& routed);

  // Adds rows [first, first + rows) of the shard's own.
  void add_ranges(size_t shard, const RoutedRows& routed);

  Payload finish() {
    payload_.keep = std::move(memory_);
    return std::move(payload_);
  }

 private:
  // The memory into which the payload points.
  struct Memory {
    std::shared_ptr<const void> head;
    std::vector<Buffer> copies;
    GradientBuffers gradients;
  };

  void add_padding(size_t size) {
    if (padded(size) > size) payload_.parts.push_back({kPadding.data(), padded(size) - size});
  }
  void encode_keyed(const RoutedRows& routed, RowType type, char* to);

  // Returns true if the gradients of a parameter travel in the bytes of its codec.
  bool coded(size_t p) const {
    return source_.gradients != nullptr && source_.residuals != nullptr && source_.residuals->codecs().has(p);
  }
  void add_coded(const RoutedRows& routed, const std::vector<CodedRows>& runs);
  std::vector<CodedRows> keyed_rows(const RoutedRows& routed) const;
  std::vector<CodedRows> own_rows(size_t shard, const RoutedRows& routed) const;

  const RowMessageContext& context_;
  const RowSource& source_;
  Payload payload_;
  std::shared_ptr<Memory> memory_;
};

void RowMessage::add_keyed(const RoutedRows& routed) {
  if (coded(routed.parameter)) return add_coded(routed, keyed_rows(routed));
  const RowType type = source_.type;
  const int64_t cols = context_.specs[routed.parameter].cols;
  const size_t row_bytes = encoded_row_bytes(type, cols), size = static_cast<size_t>(routed.rows) * row_bytes;
  const bool in_place = source_.gradients != nullptr && type == RowType::kF32;
  if (in_place && (routed.in_sequence() || row_bytes >= kWorthPointing)) {
    const float* from = source_.begin(routed);
    memory_->gradients.push_back((*source_.gradients)[routed.parameter]);
    if (routed.in_sequence())
      payload_.parts.push_back(bytes_of(from + routed.first * cols, routed.rows * cols));
    for (uint32_t position : routed.positions)
      payload_.parts.push_back(bytes_of(from + position * cols, cols));
    return add_padding(size);
  }
  Buffer& rows = memory_->copies.emplace_back(context_.pool.take(size));
  encode_keyed(routed, type, rows.data());
  payload_.parts.push_back(rows.bytes());
  add_padding(size);
}

// to [rows, encoded row] <- the rows of a slice.  Types other than f32 round: the codec adds the residual
// of a row before it encodes the row, and leaves what rounding took in the residual.
void RowMessage::encode_keyed(const RoutedRows& routed, RowType type, char* to) {
  const size_t p = routed.parameter;
  const int64_t cols = context_.specs[p].cols;
  const float* from = source_.begin(routed);
  if (type == RowType::kF32) {
    auto row_at = [&](size_t n) { return from + routed.position(static_cast<int64_t>(n)) * cols; };
    copy_rows(static_cast<size_t>(routed.rows), static_cast<size_t>(cols), row_at,
              reinterpret_cast<float*>(to));
    return;
  }
  const RowCodec& codec = row_codec(type, context_.cpu);
  const uint64_t row_bytes = encoded_row_bytes(type, cols);
  for (int64_t n = 0; n < routed.rows; ++n, to += row_bytes) {
    const int64_t position = routed.position(n);
    float* residual = source_.residuals->of_position(p, position);
    codec.encode_with_error(from + position * cols, residual, 1, cols, to);
  }
}

// Gradients of f32 are sent from their own memory; statistics, weights and encoded gradients are copied.  The
// shard's rows are divided into runs that are contiguous in the parameter.
void RowMessage::add_ranges(size_t shard, const RoutedRows& routed) {
  const size_t p = routed.parameter;
  const int64_t cols = context_.specs[p].cols;
  const bool gradient = source_.gradients != nullptr && context_.specs[p].kind == ParameterKind::kMatrix;
  if (gradient && coded(p)) return add_coded(routed, own_rows(shard, routed));
  const RowType type = gradient ? source_.type : RowType::kF32;
  const size_t row_bytes = encoded_row_bytes(type, cols), size = static_cast<size_t>(routed.rows) * row_bytes;
  const float* from = source_.begin(routed);
  const bool in_place = gradient && type == RowType::kF32;
  char* to = nullptr;
  if (in_place) {
    memory_->gradients.push_back((*source_.gradients)[p]);
  } else {
    to = memory_->copies.emplace_back(context_.pool.take(size)).data();
    payload_.parts.push_back(memory_->copies.back().bytes());
  }
  auto add_run = [&](int64_t, int64_t row, int64_t count) {
    const float* run = from + row * cols;
    if (in_place) return payload_.parts.push_back(bytes_of(run, count * cols));
    if (gradient) {
      row_codec(type, context_.cpu)
          .encode_with_error(run, source_.residuals->of_row(p, row), count, cols, to);
    } else {
      row_codec(type, context_.cpu).encode(run, count, cols, to);
    }
    to += static_cast<size_t>(count) * row_bytes;
  };
  for_each_run(context_.router.deal(p, shard), routed.first, routed.rows, add_run);
  add_padding(size);
}

// keyed_rows and own_rows return the rows of a slice in the order in which the shard reads them, each with
// its residual.  Keyed rows stand one by one; the shard's own rows are joined into runs of neighbours.
std::vector<CodedRows> RowMessage::keyed_rows(const RoutedRows& routed) const {
  const size_t p = routed.parameter;
  const bool keeps = source_.residuals->codecs().of(p).keeps_residual();
  std::vector<CodedRows> rows;
  for (int64_t n = 0; n < routed.rows; ++n) {
    const int64_t position = routed.position(n);
    float* residual = keeps ? source_.residuals->of_position(p, position) : nullptr;
    rows.push_back({source_.begin(routed) + position * context_.specs[p].cols, residual, 1});
  }
  return rows;
}

std::vector<CodedRows> RowMessage::own_rows(size_t shard, const RoutedRows& routed) const {
  const size_t p = routed.parameter;
  const bool keeps = source_.residuals->codecs().of(p).keeps_residual();
  std::vector<CodedRows> runs;
  for_each_run(context_.router.deal(p, shard), routed.first, routed.rows,
               [&](int64_t, int64_t row, int64_t count) {
                 float* residual = keeps ? source_.residuals->of_row(p, row) : nullptr;
                 runs.push_back({source_.begin(routed) + row * context_.specs[p].cols, residual, count});
               });
  return runs;
}

// Copies the rows and their residuals side by side, so that the codec encodes them as one matrix;
// afterwards copies the residuals back.  The bytes follow their length.  The residuals of `runs` lie in the
// memory of Residuals, and codec.encode_slice needs those of the whole slice together.
//
//   coded := size:u64 bytes[size] padding      (ps-wire(5))
void RowMessage::add_coded(const RoutedRows& routed, const std::vector<CodedRows>& runs) {
  const size_t p = routed.parameter, cols = static_cast<size_t>(context_.specs[p].cols);
  Codec& codec = source_.residuals->codecs().of(p);
  std::vector<float> values, residual;
  for (const CodedRows& run : runs) {
    const size_t count = static_cast<size_t>(run.count) * cols;
    values.insert(values.end(), run.values, run.values + count);
    if (run.residual != nullptr) residual.insert(residual.end(), run.residual, run.residual + count);
  }
  std::string bytes;
  try {
    codec.encode_slice(values, residual, bytes);
  } catch (const Error& error) {
    throw error.within(cat("the gradient of ", quote(context_.specs[p].name)));
  }
  const float* next = residual.data();
  for (const CodedRows& run : runs) {
    if (run.residual == nullptr) continue;
    const size_t count = static_cast<size_t>(run.count) * cols;
    std::copy_n(next, count, run.residual);
    next += count;
  }
  const uint64_t size = bytes.size();
  Buffer& rows = memory_->copies.emplace_back(context_.pool.take(sizeof size + bytes.size()));
  std::memcpy(rows.data(), &size, sizeof size);
  std::ranges::copy(bytes, rows.data() + sizeof size);
  payload_.parts.push_back(rows.bytes());
  add_padding(sizeof size + bytes.size());
}

}  // namespace

Payload make_row_message(const RowMessageContext& context, std::string head, size_t shard,
                         const Bundle& bundle, const RowSource& source) {
  RowMessage message(context, std::move(head), source);
  for (const RoutedRows& routed : bundle.routed) {
    routed.by_keys ? message.add_keyed(routed) : message.add_ranges(shard, routed);
  }
  return message.finish();
}

}  // namespace ps
