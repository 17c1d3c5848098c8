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

ExampleStore::PackedSlot ExampleStore::pack_slot(const SlotData& slot) {
  // Copies, unlike the originals, have no spare capacity.
  PackedSlot packed{slot.offsets, {}, {}, slot.values};
  bool narrow = std::all_of(slot.keys.begin(), slot.keys.end(), [](Key key) { return key <= UINT32_MAX; });
  if (!narrow) {
    packed.keys = slot.keys;
    return packed;
  }
  packed.narrow_keys.resize(slot.keys.size());
  std::transform(slot.keys.begin(), slot.keys.end(), packed.narrow_keys.begin(),
                 [](Key key) { return static_cast<uint32_t>(key); });
  return packed;
}

uint64_t ExampleStore::packed_size(const Piece& piece) {
  uint64_t bytes =
      sizeof(Piece) + piece.labels.size() * 4 + piece.weights.size() * 4 + piece.groups.size() * 8;
  for (const PackedSlot& slot : piece.slots) {
    bytes += sizeof slot + slot.offsets.size() * 4 + slot.narrow_keys.size() * 4 + slot.keys.size() * 8 +
             slot.values.size() * 4;
  }
  return bytes;
}

void ExampleStore::pack() {
  open_.normalize(schema_);
  Piece piece{open_.labels, open_.weights, open_.groups, {}};
  for (const SlotData& slot : open_.slots) piece.slots.push_back(pack_slot(slot));
  packed_bytes_ += packed_size(piece);
  pieces_.push_back(std::move(piece));
  open_.clear(schema_);
  if (memory_limit_ == 0 || packed_bytes_ <= memory_limit_) return;
  fail(Code::kExhausted, "the examples kept in memory take more than ", human_bytes(memory_limit_),
       " (data.memory_limit): read files rather than a stream, or use shuffle 'window'");
}

// Appends one element to an array that is left out while all are standard; `size` elements came before it.
template <class T>
static void append_optional(std::vector<T>& out, size_t size, const std::vector<T>& in, size_t index,
                            T standard) {
  if (out.empty() && in.empty()) return;
  out.resize(size, standard);
  out.push_back(in.empty() ? standard : in[index]);
}

void ExampleStore::append_slot(const PackedSlot& in, const SlotSchema& schema, size_t index,
                               SlotData& out) const {
  if (schema.dense) {
    auto row = in.values.begin() + static_cast<int64_t>(index) * schema.dim;
    out.values.insert(out.values.end(), row, row + schema.dim);
    return;
  }
  uint32_t begin = in.offsets[index], end = in.offsets[index + 1];
  size_t before = out.keys.size();
  if (in.keys.empty()) {
    out.keys.insert(out.keys.end(), in.narrow_keys.begin() + begin, in.narrow_keys.begin() + end);
  } else {
    out.keys.insert(out.keys.end(), in.keys.begin() + begin, in.keys.begin() + end);
  }
  out.offsets.push_back(static_cast<uint32_t>(out.keys.size()));
  if (out.values.empty() && in.values.empty()) return;
  out.values.resize(before, 1.0f);
  if (!in.values.empty())
    out.values.insert(out.values.end(), in.values.begin() + begin, in.values.begin() + end);
  out.values.resize(out.keys.size(), 1.0f);
}

void ExampleStore::append_to(int64_t index, Batch& out) const {
  size_t piece_index = static_cast<size_t>(index / kPiece), i = static_cast<size_t>(index % kPiece);
  if (piece_index == pieces_.size()) return out.append(schema_, open_, index % kPiece);
  const Piece& piece = pieces_[piece_index];
  append_optional(out.weights, out.labels.size(), piece.weights, i, 1.0f);
  append_optional(out.groups, out.labels.size(), piece.groups, i, uint64_t{0});
  for (size_t s = 0; s < out.slots.size(); ++s)
    append_slot(piece.slots[s], schema_.slots[s], i, out.slots[s]);
  out.labels.push_back(piece.labels[i]);
}

}  // namespace ps
