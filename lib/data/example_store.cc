#include "data/example_store.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ps {

ExampleStore::ExampleStore(DataSchema schema, uint64_t memory_limit)
    : schema_(std::move(schema)), memory_limit_(memory_limit) {
  open_.clear(schema_);
}

void ExampleStore::append_range(const Batch& batch, int64_t begin, int64_t end) {
  while (begin < end) {
    int64_t part = std::min(end - begin, kPiece - open_.size());
    open_.append_range(schema_, batch, begin, begin + part);
    begin += part;
    if (open_.size() == kPiece) pack();
  }
}

// Copies an array into memory of exactly its size, and returns a view of it, which stays valid as long as
// the store.  Values must fit the narrower type.
template <class Packed, class T>
std::span<const Packed> ExampleStore::pack_array(const std::vector<T>& values) {
  if (values.empty()) return {};
  size_t bytes = values.size() * sizeof(Packed);
  arrays_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
  array_bytes_ += bytes;
  Packed* packed = reinterpret_cast<Packed*>(arrays_.back().get());
  std::transform(values.begin(), values.end(), packed, [](T value) { return static_cast<Packed>(value); });
  return {packed, values.size()};
}

// The bitwise or of all keys fits into 32 bits exactly if each key does.
ExampleStore::PackedSlot ExampleStore::pack_slot(const SlotData& slot) {
  PackedSlot packed;
  packed.offsets = pack_array<uint32_t>(slot.offsets);
  packed.values = pack_array<float>(slot.values);
  Key bits = 0;
  for (Key key : slot.keys) bits |= key;
  if (bits <= UINT32_MAX) {
    packed.narrow_keys = pack_array<uint32_t>(slot.keys);
  } else {
    packed.keys = pack_array<Key>(slot.keys);
  }
  return packed;
}

// Makes a piece of the open examples.  Normalizing comes first: arrays whose elements are all standard then
// take no memory.
void ExampleStore::pack() {
  open_.normalize(schema_);
  Piece& piece = pieces_.emplace_back();
  piece.labels = pack_array<float>(open_.labels);
  piece.weights = pack_array<float>(open_.weights);
  piece.groups = pack_array<uint64_t>(open_.groups);
  piece.slots.reserve(open_.slots.size());
  for (const SlotData& slot : open_.slots) piece.slots.push_back(pack_slot(slot));
  open_.clear(schema_);
}

uint64_t ExampleStore::memory_bytes() const {
  constexpr uint64_t kAllocation = 16;  // overhead of the allocator, bytes an array
  uint64_t piece_bytes = sizeof(Piece) + schema_.slots.size() * sizeof(PackedSlot);
  return array_bytes_ + arrays_.size() * (sizeof arrays_[0] + kAllocation) + pieces_.size() * piece_bytes +
         open_.memory_bytes();
}

void ExampleStore::check_fits() const {
  if (fits()) return;
  fail(Code::kExhausted, "the examples kept in memory take more than ", human_bytes(memory_limit_),
       " (data.memory_limit): read files rather than a stream, with cache 'auto', and use shuffle 'window'");
}

// Appends elements [begin, end) of `in` to `out`.  Both are empty while all their elements are standard;
// `size` elements of `out` come before the new ones.
template <class T>
static void append_optional(std::vector<T>& out, size_t size, std::span<const T> in, size_t begin, size_t end,
                            T standard) {
  if (out.empty() && in.empty()) return;
  out.resize(size, standard);
  if (in.empty()) {
    out.resize(size + end - begin, standard);
  } else {
    out.insert(out.end(), in.data() + begin, in.data() + end);
  }
}

// Appends examples [begin, end) of a packed slot.  `shift` leads from positions among the keys of the piece
// to those among the keys of `out`; it may wrap around below 0, which the addition undoes.
void ExampleStore::append_slot(const PackedSlot& in, const SlotSchema& schema, size_t begin, size_t end,
                               SlotData& out) {
  if (schema.dense) {
    size_t dim = static_cast<size_t>(schema.dim);
    out.values.insert(out.values.end(), in.values.data() + begin * dim, in.values.data() + end * dim);
    return;
  }
  size_t before = out.keys.size(), first = in.offsets[begin], last = in.offsets[end];
  append_optional(out.values, before, in.values, first, last, 1.0f);
  if (in.keys.empty()) {
    out.keys.insert(out.keys.end(), in.narrow_keys.data() + first, in.narrow_keys.data() + last);
  } else {
    out.keys.insert(out.keys.end(), in.keys.data() + first, in.keys.data() + last);
  }
  uint32_t shift = static_cast<uint32_t>(before - first);
  for (size_t i = begin + 1; i <= end; ++i) out.offsets.push_back(in.offsets[i] + shift);
}

void ExampleStore::append_piece(const Piece& piece, size_t begin, size_t end, Batch& out) const {
  append_optional(out.weights, out.labels.size(), piece.weights, begin, end, 1.0f);
  append_optional(out.groups, out.labels.size(), piece.groups, begin, end, uint64_t{0});
  for (size_t s = 0; s < out.slots.size(); ++s)
    append_slot(piece.slots[s], schema_.slots[s], begin, end, out.slots[s]);
  out.labels.insert(out.labels.end(), piece.labels.data() + begin, piece.labels.data() + end);
}

// Goes from piece to piece: example i is number i % kPiece of piece i / kPiece.  The piece behind the last
// is open_, whose examples are not packed yet.
void ExampleStore::append_range_to(int64_t begin, int64_t end, Batch& out) const {
  while (begin < end) {
    int64_t first = begin % kPiece, last = std::min(kPiece, first + end - begin);
    size_t index = static_cast<size_t>(begin / kPiece);
    if (index == pieces_.size()) return out.append_range(schema_, open_, first, last);
    append_piece(pieces_[index], static_cast<size_t>(first), static_cast<size_t>(last), out);
    begin += last - first;
  }
}

}  // namespace ps
