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

// A growing array of examples.  They are packed in pieces of kPiece examples.  Each piece has exactly the
// memory that it needs; its ids take 4 bytes if all of them fit.  One thread appends; after that, any thread
// may read.
//
// Examples lie on ordinary pages, since they are read in order.  The system needed 0.1 s to supply 160 MB of
// ordinary pages, and 0.04 s to 0.45 s for as many huge pages, depending on how fragmented memory was.
class ExampleStore {
 public:
  static constexpr int64_t kPiece = 1024;

  // `memory_limit` in bytes; 0: none.
  explicit ExampleStore(DataSchema schema, uint64_t memory_limit = 0);

  void append_range(const Batch& batch, int64_t begin, int64_t end);

  // Returns false once the examples take more memory than the limit.  The owner calls this, or check_fits,
  // which throws kExhausted, after each append.
  bool fits() const { return memory_limit_ == 0 || memory_bytes() <= memory_limit_; }
  void check_fits() const;

  // Appends example `index`, or examples [begin, end), to `out`: once `out` is normalized, it does not depend
  // on the pieces in which they lie.
  void append_to(int64_t index, Batch& out) const { append_range_to(index, index + 1, out); }
  void append_range_to(int64_t begin, int64_t end, Batch& out) const;

  int64_t size() const { return static_cast<int64_t>(pieces_.size()) * kPiece + open_.size(); }
  uint64_t memory_bytes() const;
  const DataSchema& schema() const { return schema_; }

 private:
  // The arrays of one slot, in the memory of arrays_. An array that Batch leaves empty is empty here as well.
  struct PackedSlot {
    std::span<const uint32_t> offsets;
    std::span<const uint32_t> narrow_keys;  // used if all keys fit into 32 bits, else `keys` is
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
