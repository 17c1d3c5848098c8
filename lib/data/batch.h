// Batch: some examples, parsed.  Made by readers and generators; used by writers, the network and the
// training loop.
#ifndef PS_DATA_BATCH_H_
#define PS_DATA_BATCH_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ps {

using Key = uint64_t;  // the id of a feature

// The type of a slot, which is one feature field of an example.  All examples of a data set have the same
// slots.
struct SlotSchema {
  std::string name;
  bool dense = false;
  int64_t dim = 0;  // dense: values per example, > 0; sparse: ids are below it, or 0: any 64-bit number
};

// The fields of every example of a data set, in order.  Single-slot formats have one slot, "features".
struct DataSchema {
  std::vector<SlotSchema> slots;

  // Returns the position of the slot of this name, or -1.
  int find(const std::string& name) const {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }
};

// The values of one slot for B examples.
//   dense:  values [B, dim], offsets and keys empty
//   sparse: compressed rows: example b has keys [offsets[b], offsets[b + 1]); values empty means all are 1
struct SlotData {
  std::vector<uint32_t> offsets;  // [B + 1], offsets[0] = 0
  std::vector<Key> keys;          // [K]
  std::vector<float> values;      // [K] or empty; dense: [B * dim]

  // Gives every key the value 1.  Must be called before the first other value is appended.
  void make_valued() { values.resize(keys.size(), 1.0f); }
  bool valued() const { return !values.empty(); }
};

// B examples.  A reused Batch keeps its memory: nothing is allocated per example once it has grown.
struct Batch {
  std::vector<float> labels;     // [B]
  std::vector<float> weights;    // [B], or empty: all 1
  std::vector<uint64_t> groups;  // [B], or empty: "qid:" of ranking data
  std::vector<SlotData> slots;   // one for each slot of the schema

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  float weight(int64_t example) const {
    return weights.empty() ? 1.0f : weights[static_cast<size_t>(example)];
  }

  // Empties all arrays; every sparse slot gets offsets {0}.
  void clear(const DataSchema& schema);

  // Appends example `index` of `other`, which has the same schema.
  void append(const DataSchema& schema, const Batch& other, int64_t index);

  // Appends examples [begin, end) of `other`.
  void append_range(const DataSchema& schema, const Batch& other, int64_t begin, int64_t end);

  // Drops example `size` and all after it, also an example of which only some fields were appended; its label
  // comes last.
  void truncate(const DataSchema& schema, int64_t size);

  // Empties arrays of weights, groups and values whose elements are all standard, so that equal examples make
  // equal batches.
  void normalize(const DataSchema& schema);

  // Returns the bytes of the arrays' capacity.
  uint64_t memory_bytes() const;
};

// Checks a batch that another process has sent.  Throws kData unless every array has the size that follows from
// the schema and the number of examples, offsets ascend, and ids are below the dim of their slot.
void check_batch(const Batch& batch, const DataSchema& schema);

}  // namespace ps

#endif  // PS_DATA_BATCH_H_
