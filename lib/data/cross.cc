#include "data/cross.h"

#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace ps {

namespace {

size_t find_sparse_slot(const DataSchema& schema, const std::string& name) {
  const int index = schema.find(name);
  if (index < 0) {
    std::vector<std::string> names;
    for (const SlotSchema& slot : schema.slots) names.push_back(slot.name);
    fail(Code::kUsage, "data.cross: there is no slot ", quote(name), did_you_mean(name, names));
  }
  const SlotSchema& slot = schema.slots[static_cast<size_t>(index)];
  if (slot.dense) fail(Code::kUsage, "data.cross: ", quote(name), " is dense, and has no ids to cross");
  return static_cast<size_t>(index);
}

// The combinations of one example so far.
struct Combinations {
  std::vector<Key> keys;
  std::vector<float> values;
};

// Extends each combination by each id of example b of the slot.
void combine(const SlotData& slot, size_t b, Combinations& all, Combinations& scratch) {
  scratch.keys.clear();
  scratch.values.clear();
  const size_t begin = slot.offsets[b], end = slot.offsets[b + 1];
  if (all.keys.size() * (end - begin) > kMaxCombinations)
    fail(Code::kData, "data.cross: an example has more than ", kMaxCombinations, " combinations of ids");
  for (size_t i = 0; i < all.keys.size(); ++i) {
    for (size_t k = begin; k < end; ++k) {
      scratch.keys.push_back(hash_key(all.keys[i]) + slot.keys[k]);
      scratch.values.push_back(all.values[i] * (slot.valued() ? slot.values[k] : 1.0f));
    }
  }
  std::swap(all, scratch);
}

// Returns the crossed slot of B = `examples` examples.  `all` begins with one combination, that of no slot,
// and each slot multiplies their number by that of its ids.  An example without an id in one of the slots
// has none.
SlotData cross_of(const std::vector<const SlotData*>& slots, Key seed, size_t examples) {
  SlotData out;
  out.offsets.push_back(0);
  bool valued = false;
  for (const SlotData* slot : slots) valued |= slot->valued();
  Combinations all, scratch;
  for (size_t b = 0; b < examples; ++b) {
    all.keys.assign(1, seed);
    all.values.assign(1, 1.0f);
    for (const SlotData* slot : slots) combine(*slot, b, all, scratch);
    out.keys.insert(out.keys.end(), all.keys.begin(), all.keys.end());
    if (valued) out.values.insert(out.values.end(), all.values.begin(), all.values.end());
    out.offsets.push_back(static_cast<uint32_t>(out.keys.size()));
  }
  return out;
}

// Returns "a^b", the name of the slot that the cross of a and b makes.
std::string cross_name(const Cross& cross) {
  return join(cross, "^");
}

}  // namespace

void add_cross_slots(const std::vector<Cross>& crosses, DataSchema& schema) {
  const DataSchema parsed = schema;
  for (const Cross& cross : crosses) {
    const std::string name = cross_name(cross);
    if (cross.size() < 2)
      fail(Code::kUsage, "data.cross: ", quote(name), " is one slot, expected two or more");
    for (const std::string& slot : cross) find_sparse_slot(parsed, slot);
    if (schema.find(name) >= 0) fail(Code::kUsage, "data.cross: there is a slot ", quote(name), " already");
    schema.slots.push_back({name, false, 0});
  }
}

void cross_slots(const std::vector<Cross>& crosses, const DataSchema& schema, Batch& batch) {
  // The crosses wait here until all are made: to append one would move batch.slots, and with it the slots
  // from which the next is made.
  std::vector<SlotData> made;
  for (const Cross& cross : crosses) {
    std::vector<const SlotData*> slots;
    for (const std::string& name : cross) slots.push_back(&batch.slots[find_sparse_slot(schema, name)]);
    made.push_back(cross_of(slots, hash_bytes(cross_name(cross)), batch.labels.size()));
  }
  for (SlotData& slot : made) batch.slots.push_back(std::move(slot));
}

}  // namespace ps
