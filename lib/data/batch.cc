#include "data/batch.h"

#include <algorithm>

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

static void append_sparse(SlotData& out, const SlotData& in, int64_t begin, int64_t end) {
  int64_t first = in.offsets[static_cast<size_t>(begin)], last = in.offsets[static_cast<size_t>(end)];
  append_optional(out.values, out.keys.size(), in.values, first, last, 1.0f);
  uint32_t shift = static_cast<uint32_t>(out.keys.size()) - static_cast<uint32_t>(first);
  out.keys.insert(out.keys.end(), in.keys.begin() + first, in.keys.begin() + last);
  size_t before = out.offsets.size();
  out.offsets.insert(out.offsets.end(), in.offsets.begin() + begin + 1, in.offsets.begin() + end + 1);
  for (size_t i = before; i < out.offsets.size(); ++i) out.offsets[i] += shift;
}

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

}  // namespace ps
