// Examples kept in memory: for passes over a stream that can be read once, and for shuffling.  Used by
// BatchReader.
#ifndef PS_DATA_EXAMPLE_STORE_H_
#define PS_DATA_EXAMPLE_STORE_H_

#include <cstdint>
#include <vector>

#include "data/batch.h"

namespace ps {

// A growing array of examples.  They are packed in pieces of kPiece, each with no more memory than it takes:
// ids in 4 bytes where all of a piece fit.  One thread appends; once that is over, any may read.
class ExampleStore {
 public:
  static constexpr int64_t kPiece = 1024;

  // Examples of more than `memory_limit` bytes throw kExhausted; 0: no limit.
  explicit ExampleStore(DataSchema schema, uint64_t memory_limit = 0);

  void append_range(const Batch& batch, int64_t begin, int64_t end);

  // Appends example `index` to `out`, in the same form whatever piece it lies in: see Batch::normalize.
  void append_to(int64_t index, Batch& out) const;

  int64_t size() const { return static_cast<int64_t>(pieces_.size()) * kPiece + open_.size(); }
  uint64_t memory_bytes() const { return packed_bytes_ + open_.memory_bytes(); }
  const DataSchema& schema() const { return schema_; }

 private:
  struct PackedSlot {
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> narrow_keys;  // when all fit 32 bits, else keys
    std::vector<Key> keys;
    std::vector<float> values;
  };
  struct Piece {
    std::vector<float> labels, weights;
    std::vector<uint64_t> groups;
    std::vector<PackedSlot> slots;
  };

  void pack();
  static PackedSlot pack_slot(const SlotData& slot);
  static uint64_t packed_size(const Piece& piece);
  void append_slot(const PackedSlot& in, const SlotSchema& schema, size_t index, SlotData& out) const;

  const DataSchema schema_;
  const uint64_t memory_limit_;
  std::vector<Piece> pieces_;
  uint64_t packed_bytes_ = 0;
  Batch open_;  // the examples after the last piece
};

}  // namespace ps

#endif  // PS_DATA_EXAMPLE_STORE_H_
