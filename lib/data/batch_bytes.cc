#include "data/batch_bytes.h"

#include <span>

#include "base/error.h"

namespace ps {

namespace {

// batch := examples:u32 flags:u8 labels:f32[] weights:f32[] groups:u64[] slots:u32 slot[slots]
// slot  := kDenseSlot:u8 values:u32 f32[values] | flags:u8 offsets:u32[examples + 1] keys:u64[] values:f32[]
constexpr uint8_t kBatchWeights = 1, kBatchGroups = 2;                              // flags of a batch
constexpr uint8_t kDenseSlot = 0, kSparseSlot = 1, kSlotKeys = 2, kSlotValues = 4;  // flags of a slot

void put_size(std::string& out, size_t size) {
  put(out, static_cast<uint32_t>(size));
}

void encode_slot(const SlotData& slot, bool with_keys, std::string& out) {
  if (slot.offsets.empty()) {
    put(out, kDenseSlot);
    put_size(out, slot.values.size());
    return put_array<float>(out, slot.values);
  }
  const int flags = kSparseSlot | (with_keys ? kSlotKeys : 0) | (slot.valued() ? kSlotValues : 0);
  put(out, static_cast<uint8_t>(flags));
  put_array<uint32_t>(out, slot.offsets);
  if (with_keys) put_array<Key>(out, slot.keys);
  put_array<float>(out, slot.values);
}

// Decodes one batch.  It compares each length with the remaining bytes before it allocates.  One owner thread.
class BatchDecoder {
 public:
  explicit BatchDecoder(ByteReader& in) : in_(in) {}

  // Decodes the batch, and returns for each slot if its keys were left out.  All arrays then have the
  // lengths that the bytes claim; check_batch finds out if offsets ascend and ids fit their slots.
  std::vector<bool> decode(size_t num_slots, Batch& batch) {
    const size_t examples = in_.get<uint32_t>();
    const uint8_t flags = in_.get<uint8_t>();
    expect((flags & ~(kBatchWeights | kBatchGroups)) == 0, "flags");
    get(batch.labels, examples, "labels");
    get(batch.weights, flags & kBatchWeights ? examples : 0, "weights");
    get(batch.groups, flags & kBatchGroups ? examples : 0, "groups");
    expect(in_.get<uint32_t>() == num_slots, "number of slots");
    batch.slots.resize(num_slots);
    std::vector<bool> without_keys;
    for (SlotData& slot : batch.slots) without_keys.push_back(!decode_slot(slot, examples));
    return without_keys;
  }

 private:
  void expect(bool good, const char* what) const {
    if (in_.ok() && good) return;
    fail(Code::kData, "batch: its ", what, " makes no sense, with ", in_.remaining(), " bytes left");
  }

  template <class Scalar>
  void get(std::vector<Scalar>& out, size_t size, const char* what) {
    expect(in_.remaining() / sizeof(Scalar) >= size, what);
    out.resize(size);
    in_.get_array(std::span<Scalar>(out));
  }

  // Returns false if its keys were left out.
  bool decode_slot(SlotData& slot, size_t examples) {
    const uint8_t flags = in_.get<uint8_t>();
    slot.offsets.clear();
    slot.keys.clear();
    if (flags == kDenseSlot) {
      get(slot.values, in_.get<uint32_t>(), "dense values");
      return true;
    }
    expect((flags & kSparseSlot) != 0 && (flags & ~(kSparseSlot | kSlotKeys | kSlotValues)) == 0,
           "kind of slot");
    get(slot.offsets, examples + 1, "offsets");
    const size_t ids = slot.offsets.back();
    const bool has_keys = (flags & kSlotKeys) != 0;
    if (has_keys) get(slot.keys, ids, "keys of a slot");
    get(slot.values, flags & kSlotValues ? ids : 0, "values");
    return has_keys;
  }

  ByteReader& in_;
};

}  // namespace

void encode_batch(const Batch& batch, const std::vector<bool>& without_keys, std::string& out) {
  put_size(out, batch.labels.size());
  const int flags = (batch.weights.empty() ? 0 : kBatchWeights) | (batch.groups.empty() ? 0 : kBatchGroups);
  put(out, static_cast<uint8_t>(flags));
  put_array<float>(out, batch.labels);
  put_array<float>(out, batch.weights);
  put_array<uint64_t>(out, batch.groups);
  put_size(out, batch.slots.size());
  for (size_t s = 0; s < batch.slots.size(); ++s) encode_slot(batch.slots[s], !without_keys[s], out);
}

std::vector<bool> decode_batch(ByteReader& in, size_t num_slots, Batch& batch) {
  return BatchDecoder(in).decode(num_slots, batch);
}

}  // namespace ps
