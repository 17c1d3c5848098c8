#include "data/transform.h"

#include <cmath>

#include "base/hash.h"
#include "data/cross.h"

namespace ps {

namespace {

// Uses log2 rather than ln, so that 1, the value of an id without one, stays 1.
void replace_by_logarithms(std::vector<float>& values) {
  for (float& value : values) {
    value = std::copysign(static_cast<float>(std::log1p(std::fabs(double{value})) / std::log(2.0)), value);
  }
}

// Scales values [size] to L2 norm 1; zeros stay.  Sums in double, in order.
void scale_row(float* values, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += double{values[i]} * values[i];
  if (sum == 0) return;
  double scale = 1 / std::sqrt(sum);
  for (int64_t i = 0; i < size; ++i) values[i] = static_cast<float>(values[i] * scale);
}

void scale_rows(const SlotSchema& schema, int64_t examples, SlotData& slot) {
  if (!schema.dense) slot.make_valued();
  for (int64_t b = 0; b < examples; ++b) {
    int64_t begin = schema.dense ? b * schema.dim : slot.offsets[static_cast<size_t>(b)];
    int64_t end = schema.dense ? begin + schema.dim : slot.offsets[static_cast<size_t>(b) + 1];
    scale_row(slot.values.data() + begin, end - begin);
  }
}

}  // namespace

DataSchema transformed_schema(const DataOptions& data, DataSchema schema) {
  add_cross_slots(data.cross, schema);
  for (SlotSchema& slot : schema.slots) {
    if (data.hash_bits > 0 && !slot.dense && !data.is_label(slot)) slot.dim = int64_t{1} << data.hash_bits;
  }
  return schema;
}

// Crosses come first, since they combine ids as they were parsed.  Logarithms come before the scaling to
// unit length, which would be undone by them.  Labels are never changed.
void transform(const DataOptions& data, const DataSchema& parsed, Batch& batch) {
  cross_slots(data.cross, parsed, batch);
  DataSchema schema = parsed;
  add_cross_slots(data.cross, schema);
  for (size_t s = 0; s < schema.slots.size(); ++s) {
    if (data.is_label(schema.slots[s])) continue;
    SlotData& slot = batch.slots[s];
    if (data.log_counts) replace_by_logarithms(slot.values);
    if (data.unit_length) scale_rows(schema.slots[s], batch.size(), slot);
    if (data.hash_bits == 0) continue;
    Key mask = (Key{1} << data.hash_bits) - 1;
    for (Key& key : slot.keys) key = hash_key(key) & mask;
  }
}

}  // namespace ps
