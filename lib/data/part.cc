#include "data/part.h"

namespace ps {

namespace {

// Returns the ids of example `index` of a sparse slot.
std::span<const Key> keys_of(const SlotData& slot, size_t index) {
  const size_t begin = slot.offsets[index];
  return std::span(slot.keys).subspan(begin, slot.offsets[index + 1] - begin);
}

// Returns the values of example `index` of a slot; none for a sparse slot whose values are all 1.
std::span<const float> values_of(const SlotSchema& schema, const SlotData& slot, size_t index) {
  const size_t dim = static_cast<size_t>(schema.dim);
  if (schema.dense) return std::span(slot.values).subspan(index * dim, dim);
  if (!slot.valued()) return {};
  const size_t begin = slot.offsets[index];
  return std::span(slot.values).subspan(begin, slot.offsets[index + 1] - begin);
}

template <class T>
uint64_t hash_span(std::span<const T> values, uint64_t seed) {
  return hash_bytes({reinterpret_cast<const char*>(values.data()), values.size_bytes()}, seed);
}

}  // namespace

bool PartFilter::keeps_by_slot(const DataSchema& schema, int slot, const Batch& batch, size_t index) const {
  if (slot < 0) {
    const uint64_t group = index < batch.groups.size() ? batch.groups[index] : 0;
    return keeps_slot(std::span(&group, 1));
  }
  const size_t s = static_cast<size_t>(slot);
  if (schema.slots[s].dense) return keeps_slot(values_of(schema.slots[s], batch.slots[s], index));
  return keeps_slot(keys_of(batch.slots[s], index));
}

// Values that are all 1 may be stored or not.  They are left out of the hash, so that both forms decide alike.
bool PartFilter::keeps_example(const DataSchema& schema, const Batch& batch, size_t index) const {
  uint64_t hash = hash_span(std::span(&batch.labels[index], 1), kExampleSeed);
  for (size_t s = 0; s < schema.slots.size(); ++s) {
    const SlotData& slot = batch.slots[s];
    if (!schema.slots[s].dense) hash = hash_span(keys_of(slot, index), hash);
    const std::span<const float> values = values_of(schema.slots[s], slot, index);
    const bool ones = std::all_of(values.begin(), values.end(), [](float v) { return v == 1; });
    if (!ones) hash = hash_span(values, hash);
  }
  return keeps_hash(hash);
}

}  // namespace ps
