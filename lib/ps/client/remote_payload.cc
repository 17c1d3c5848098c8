// The rows of what a remote store sends.
#include <array>

#include "ps/client/remote_state.h"
#include "ps/client/remote_store.h"
#include "table/row_copies.h"

namespace ps {

namespace {

alignas(kFloatAlignment) constexpr std::array<char, kFloatAlignment> kPadding{};

// Gradients of rows from this size on are sent from where they lie, one by one.
constexpr size_t kWorthPointing = 512;

ConstBytes bytes_of(const float* floats, int64_t count) {
  return {reinterpret_cast<const char*>(floats), static_cast<size_t>(count) * sizeof(float)};
}

void add_padding(Payload& payload, size_t size) {
  if (padded(size) > size) payload.parts.push_back({kPadding.data(), padded(size) - size});
}

}  // namespace

// A message of `head` and the rows of the bundle's pieces.
Payload RemoteStore::with_rows(std::string head, size_t shard, const Bundle& bundle, const Source& source) {
  Payload payload(std::move(head));
  auto out = std::make_shared<Outgoing>();
  out->head = std::move(payload.keep);
  for (const Piece& piece : bundle.pieces) {
    piece.by_keys ? add_keyed(*out, payload, piece, source) : add_ranges(*out, payload, shard, piece, source);
  }
  payload.keep = std::move(out);
  return payload;
}

// Gradients of f32 are sent from where they lie, together if they are in sequence, one by one if they are
// wide; others are copied into their order, as the type says.
void RemoteStore::add_keyed(Outgoing& out, Payload& payload, const Piece& piece, const Source& source) {
  const RowType type = source.gradients ? types_.push : RowType::kF32;
  const int64_t cols = specs_[piece.parameter].cols;
  const size_t row_bytes = encoded_row_bytes(type, cols), size = static_cast<size_t>(piece.rows) * row_bytes;
  const float* from = source.begin(piece);
  const bool in_place = source.gradients && type == RowType::kF32;
  if (in_place && (piece.in_sequence() || row_bytes >= kWorthPointing)) {
    out.gradients.push_back(held_[piece.parameter].gradients);
    if (piece.in_sequence()) payload.parts.push_back(bytes_of(from + piece.first * cols, piece.rows * cols));
    for (uint32_t position : piece.positions) payload.parts.push_back(bytes_of(from + position * cols, cols));
    return add_padding(payload, size);
  }
  Buffer& rows = out.copies.emplace_back(links_.pool().take(size));
  if (type == RowType::kF32) {
    auto row_at = [&](size_t n) { return from + piece.position(static_cast<int64_t>(n)) * cols; };
    copy_rows(static_cast<size_t>(piece.rows), static_cast<size_t>(cols), row_at,
              reinterpret_cast<float*>(rows.data()));
  } else {
    const RowCodec& codec = row_codec(type);
    const std::vector<float*>& errors = errors_[piece.parameter].rows;
    char* to = rows.data();
    for (int64_t n = 0; n < piece.rows; ++n, to += row_bytes) {
      const int64_t position = piece.position(n);
      codec.encode_with_error(from + position * cols, errors[static_cast<size_t>(position)], 1, cols, to);
    }
  }
  payload.parts.push_back(rows.bytes());
  add_padding(payload, size);
}

// Gradients of f32 are sent from where they lie.
void RemoteStore::add_ranges(Outgoing& out, Payload& payload, size_t shard, const Piece& piece,
                             const Source& source) {
  const size_t p = piece.parameter;
  const int64_t cols = specs_[p].cols;
  const bool gradient = source.gradients && specs_[p].kind == ParameterKind::kMatrix;
  const RowType type = gradient ? types_.push : RowType::kF32;
  const size_t row_bytes = encoded_row_bytes(type, cols), size = static_cast<size_t>(piece.rows) * row_bytes;
  const float* from = source.begin(piece);
  const bool in_place = gradient && type == RowType::kF32;
  char* to = nullptr;
  if (in_place) {
    out.gradients.push_back(held_[p].gradients);
  } else {
    to = out.copies.emplace_back(links_.pool().take(size)).data();
    payload.parts.push_back(out.copies.back().bytes());
  }
  for_each_run(current_->router.deal(p, shard), piece.first, piece.rows,
               [&](int64_t, int64_t row, int64_t count) {
                 const float* run = from + row * cols;
                 if (in_place) return payload.parts.push_back(bytes_of(run, count * cols));
                 if (gradient) {
                   float* error = errors_[p].whole.data() + row * cols;
                   row_codec(type).encode_with_error(run, error, count, cols, to);
                 } else {
                   row_codec(type).encode(run, count, cols, to);
                 }
                 to += static_cast<size_t>(count) * row_bytes;
               });
  add_padding(payload, size);
}

}  // namespace ps
