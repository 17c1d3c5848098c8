// FeatureSlot: fills the slot of formats that have one list of (id, value) to a line.  Used by their parsers.
#ifndef PS_DATA_FEATURES_H_
#define PS_DATA_FEATURES_H_

#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "data/batch.h"
#include "data/feature_run.h"

namespace ps {

// Appends the features of examples to a slot, which is sparse or dense as the schema says.  Constant after
// construction; any thread may use it.
class FeatureSlot {
 public:
  // The parser has subtracted `base` from the ids.  Ids below `base` have wrapped around, and are refused as
  // too large.
  explicit FeatureSlot(const SlotSchema& schema, Key base = 0)
      : dense_(schema.dense),
        dim_(schema.dim),
        largest_(schema.dim == 0 ? UINT64_MAX - base : static_cast<Key>(schema.dim) - 1) {}

  // To be called before the first feature of an example; end() after the last.
  void begin(SlotData& slot) const {
    if (dense_) slot.values.resize(slot.values.size() + static_cast<size_t>(dim_), 0.0f);
  }
  void end(SlotData& slot) const {
    if (!dense_) slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
  }

  // Adds a feature; one without a value has value 1.  Ids may repeat: dense values are added, sparse ones are
  // kept as they are.  Throws kData if the id is outside dim.
  void add(SlotData& slot, Key key) const { add(slot, key, 1.0f); }
  void add(SlotData& slot, Key key, float value) const {
    if (key > largest_) fail_outside(key);
    if (dense_) return add_dense(slot, key, value);
    slot.keys.push_back(key);
    if (slot.valued() || value != 1.0f) add_value(slot, value);
  }

  // Returns false and adds nothing when an id is outside dim.  The caller then adds the features one by one,
  // and add() names the id.
  bool add_run(SlotData& slot, const FeatureRun& run) const {
    if (run.largest > largest_) return false;
    if (dense_) {
      for (size_t i = 0; i < run.size; ++i) add_dense(slot, run.keys[i], run.values[i]);
      return true;
    }
    if (slot.valued() || !run.ones) {
      slot.make_valued();
      slot.values.insert(slot.values.end(), run.values, run.values + run.size);
    }
    slot.keys.insert(slot.keys.end(), run.keys, run.keys + run.size);
    return true;
  }

 private:
  [[noreturn]] void fail_outside(Key key) const { fail(Code::kData, "id ", key, " is outside dim ", dim_); }

  void add_dense(SlotData& slot, Key key, float value) const {
    float& sum = slot.values[slot.values.size() - static_cast<size_t>(dim_) + key];
    sum += value;
    if (!std::isfinite(sum)) fail(Code::kData, "the sum of the values of key ", key, " is not finite");
  }

  static void add_value(SlotData& slot, float value) {
    if (!slot.valued()) slot.values.resize(slot.keys.size() - 1, 1.0f);
    slot.values.push_back(value);
  }

  const bool dense_;
  const int64_t dim_;
  const Key largest_;
};

}  // namespace ps

#endif  // PS_DATA_FEATURES_H_
