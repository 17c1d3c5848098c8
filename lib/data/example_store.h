// Examples kept in memory: for passes after the first, and for shuffling.  Used by BatchReader.
#ifndef PS_DATA_EXAMPLE_STORE_H_
#define PS_DATA_EXAMPLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/batch.h"

namespace ps {

// A growing array of examples.  They are packed in pieces of kPiece, each with no more memory than it takes:
// ids in 4 bytes where all of a piece fit.  One thread appends; once that is over, any may read.
//
// They lie on ordinary pages: they are read in order, and 160 MB of new huge pages took the system from 0.04
// s to 0.45 s, as fragmented as memory was, against 0.1 s.
class ExampleStore {
 public:
  static constexpr int64_t kPiece = 1024;

  // `memory_limit` in bytes; 0: none.
  explicit ExampleStore(DataSchema schema, uint64_t memory_limit = 0);

  void append_range(const Batch& batch, int64_t begin, int64_t end);

  // False once the examples take more than the limit, which check_fits turns into kExhausted: the owner asks
  // after each append.
  bool fits() const { return memory_limit_ == 0 || memory_bytes() <= memory_limit_; }
  void check_fits() const;

  // Appends example `index`, or examples [begin, end), to `out`: in the same form whatever pieces they lie
  // in, once `out` is normalized.
  void append_to(int64_t index, Batch& out) const { append_range_to(index, index + 1, out); }
  void append_range_to(int64_t begin, int64_t end, Batch& out) const;

  int64_t size() const { return static_cast<int64_t>(pieces_.size()) * kPiece + open_.size(); }
  uint64_t memory_bytes() const;
  const DataSchema& schema() const { return schema_; }

 private:
  // Of arrays_.  What a Batch leaves out is empty here as well.
  struct PackedSlot {
    std::span<const uint32_t> offsets;
    std::span<const uint32_t> narrow_keys;  // when all fit 32 bits, else keys
    std::span<const Key> keys;
    std::span<const float> values;
  };
  struct Piece {
    std::span<const float> labels, weights;
    std::span<const uint64_t> groups;
    std::vector<PackedSlot> slots;
  };

  void pack();
  PackedSlot pack_slot(const SlotData& slot);
  template <class Packed, class T>
  std::span<const Packed> pack_array(const std::vector<T>& values);
  void append_piece(const Piece& piece, size_t begin, size_t end, Batch& out) const;
  static void append_slot(const PackedSlot& in, const SlotSchema& schema, size_t begin, size_t end,
                          SlotData& out);

  const DataSchema schema_;
  const uint64_t memory_limit_;
  std::vector<std::unique_ptr<std::byte[]>> arrays_;
  uint64_t array_bytes_ = 0;
  std::vector<Piece> pieces_;
  Batch open_;  // the examples after the last piece
};

}  // namespace ps

#endif  // PS_DATA_EXAMPLE_STORE_H_
