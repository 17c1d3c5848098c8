#include "data/batch.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ps {

void Batch::clear(const DataSchema& schema) {
  labels.clear();
  weights.clear();
  groups.clear();
  slots.resize(schema.slots.size());
  for (size_t s = 0; s < slots.size(); ++s) {
    slots[s].offsets.clear();
    slots[s].keys.clear();
    slots[s].values.clear();
    if (!schema.slots[s].dense) slots[s].offsets.push_back(0);
  }
}

void Batch::append(const DataSchema& schema, const Batch& other, int64_t index) {
  append_range(schema, other, index, index + 1);
}

// Appends elements [begin, end) of `in`, an array that is empty when all its elements equal `standard`.
template <class T>
static void append_optional(std::vector<T>& out, size_t out_size, const std::vector<T>& in, int64_t begin,
                            int64_t end, T standard) {
  if (in.empty() && out.empty()) return;
  out.resize(out_size, standard);
  if (in.empty()) {
    out.resize(out_size + static_cast<size_t>(end - begin), standard);
  } else {
    out.insert(out.end(), in.begin() + begin, in.begin() + end);
  }
}

// Appends examples [begin, end) of a sparse slot.  Values come before keys, because out.keys.size() is the
// number of values that `out` has or stands for.  `shift` moves offsets of `in` to where their keys are in
// `out`, modulo 2^32.
static void append_sparse(SlotData& out, const SlotData& in, int64_t begin, int64_t end) {
  int64_t first = in.offsets[static_cast<size_t>(begin)], last = in.offsets[static_cast<size_t>(end)];
  append_optional(out.values, out.keys.size(), in.values, first, last, 1.0f);
  uint32_t shift = static_cast<uint32_t>(out.keys.size()) - static_cast<uint32_t>(first);
  out.keys.insert(out.keys.end(), in.keys.begin() + first, in.keys.begin() + last);
  size_t before = out.offsets.size();
  out.offsets.insert(out.offsets.end(), in.offsets.begin() + begin + 1, in.offsets.begin() + end + 1);
  for (size_t i = before; i < out.offsets.size(); ++i) out.offsets[i] += shift;
}

// Weights and groups come before labels, because labels.size() is the number of examples that they have or
// stand for.
void Batch::append_range(const DataSchema& schema, const Batch& other, int64_t begin, int64_t end) {
  append_optional(weights, labels.size(), other.weights, begin, end, 1.0f);
  append_optional(groups, labels.size(), other.groups, begin, end, uint64_t{0});
  labels.insert(labels.end(), other.labels.begin() + begin, other.labels.begin() + end);
  for (size_t s = 0; s < slots.size(); ++s) {
    if (schema.slots[s].dense) {
      int64_t dim = schema.slots[s].dim;
      const std::vector<float>& values = other.slots[s].values;
      slots[s].values.insert(slots[s].values.end(), values.begin() + begin * dim, values.begin() + end * dim);
    } else {
      append_sparse(slots[s], other.slots[s], begin, end);
    }
  }
}

template <class T>
static void shrink(std::vector<T>& values, size_t size) {
  if (values.size() > size) values.resize(size);
}

// Each array is cut by itself, since an example of which only some fields were appended has made only some
// of them longer.  Keys end where the offsets of the last whole example end.
void Batch::truncate(const DataSchema& schema, int64_t size) {
  size_t examples = static_cast<size_t>(size);
  shrink(labels, examples);
  shrink(weights, examples);
  shrink(groups, examples);
  for (size_t s = 0; s < slots.size(); ++s) {
    if (schema.slots[s].dense) {
      shrink(slots[s].values, examples * static_cast<size_t>(schema.slots[s].dim));
    } else {
      shrink(slots[s].offsets, examples + 1);
      shrink(slots[s].keys, slots[s].offsets.back());
      shrink(slots[s].values, slots[s].keys.size());
    }
  }
}

template <class T>
static void drop_standard(std::vector<T>& values, T standard) {
  if (std::all_of(values.begin(), values.end(), [&](T value) { return value == standard; })) values.clear();
}

void Batch::normalize(const DataSchema& schema) {
  drop_standard(weights, 1.0f);
  drop_standard(groups, uint64_t{0});
  for (size_t s = 0; s < slots.size(); ++s) {
    if (!schema.slots[s].dense) drop_standard(slots[s].values, 1.0f);
  }
}

uint64_t Batch::memory_bytes() const {
  uint64_t bytes = labels.capacity() * 4 + weights.capacity() * 4 + groups.capacity() * 8;
  for (const SlotData& slot : slots) {
    bytes += slot.offsets.capacity() * 4 + slot.keys.capacity() * 8 + slot.values.capacity() * 4;
  }
  return bytes;
}

static void expect_size(const std::string& what, size_t found, size_t expected) {
  if (found != expected) fail(Code::kData, "batch: ", what, ": ", found, " elements, expected ", expected);
}

// The order matters: offsets are known to exist before the first and last are looked at, and they ascend
// before the last of them is taken for the number of keys.
static void check_slot_data(const SlotData& slot, const SlotSchema& schema, size_t examples) {
  const std::string name = cat("slot ", quote(schema.name));
  expect_size(name, slot.offsets.size(), schema.dense ? 0 : examples + 1);
  if (schema.dense) {
    expect_size(name, slot.keys.size(), 0);
    return expect_size(name, slot.values.size(), examples * static_cast<size_t>(schema.dim));
  }
  if (slot.offsets.front() != 0 || !std::ranges::is_sorted(slot.offsets)) {
    fail(Code::kData, "batch: ", name, ": its offsets do not ascend from 0");
  }
  expect_size(name, slot.keys.size(), slot.offsets.back());
  if (slot.valued()) expect_size(name, slot.values.size(), slot.keys.size());
  const Key bound = static_cast<Key>(schema.dim);
  const auto beyond = [bound](Key key) { return bound > 0 && key >= bound; };
  const auto found = std::ranges::find_if(slot.keys, beyond);
  if (found != slot.keys.end()) fail(Code::kData, "batch: ", name, ": id ", *found, " is not below ", bound);
}

void check_batch(const Batch& batch, const DataSchema& schema) {
  const size_t examples = batch.labels.size();
  if (!batch.weights.empty()) expect_size("weights", batch.weights.size(), examples);
  if (!batch.groups.empty()) expect_size("groups", batch.groups.size(), examples);
  expect_size("slots", batch.slots.size(), schema.slots.size());
  for (size_t s = 0; s < batch.slots.size(); ++s) check_slot_data(batch.slots[s], schema.slots[s], examples);
}

}  // namespace ps
