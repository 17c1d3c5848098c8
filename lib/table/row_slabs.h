// RowSlabs: rows by number, in slabs that never move while they are in memory.  Used by what gives rows their
// numbers.
#ifndef PS_TABLE_ROW_SLABS_H_
#define PS_TABLE_ROW_SLABS_H_

#include <cstdint>
#include <vector>

#include "base/huge_pages.h"
#include "table/row_bits.h"
#include "table/row_layout.h"
#include "table/row_spill.h"

namespace ps {

// Numbers go from 0 in the order in which rows were added; those of removed rows are given again, the last
// removed first.  One thread at a time; the arena must outlive it.
class RowSlabs {
 public:
  // Slabs take about slab_bytes, and hold one row at least.  With `spill`, which must outlive it, they are
  // blocks of that, and may be on disk; then it must not move.
  RowSlabs(const RowLayout& layout, uint64_t slab_bytes, HugeArena& arena, RowSpill* spill = nullptr);

  // Adds a row, whose floats are not set, and returns its number.  Throws kExhausted without memory, or after
  // 2^32 - 2 rows.
  uint32_t add();

  // Pins the places of removed rows that the next `rows` calls of add() give: they are in memory from the
  // next RowSpill::load() on.
  void pin_next(uint64_t rows);

  // Its place is the next that add() gives.
  void remove(uint32_t number);

  // Sets a row's bit for the running snapshot; false when it was set already.
  bool capture(uint32_t number) { return captured_.set(number, end_); }
  void clear_captured() { captured_.clear(); }

  // For slabs that may be on disk.  pin is RowSpill::pin; plan_read reads stride floats of a row that is there.
  void pin(uint32_t number) { spill_->pin(blocks_[number >> bits_]); }
  bool is_resident(uint32_t number) const { return slabs_[number >> bits_] != nullptr; }
  void plan_read(uint32_t number, float* to) const;

  float* row(uint32_t number) const { return slabs_[number >> bits_] + (number & mask_) * stride_; }
  uint32_t size() const { return end_ - static_cast<uint32_t>(removed_.size()); }
  uint64_t memory_bytes() const;  // of slabs, those that are not on disk

 private:
  void add_slab();
  uint64_t slab_bytes() const { return (uint64_t{1} << bits_) * stride_ * sizeof(float); }

  HugeArena* arena_;
  RowSpill* spill_;  // or null
  uint64_t stride_;  // floats from a row to the next
  uint32_t bits_, mask_;
  uint32_t end_ = 0;               // beyond all numbers given
  std::vector<float*> slabs_;      // 2^bits_ rows each; null: on disk
  uint64_t resident_bytes_ = 0;    // of slabs_
  std::vector<uint32_t> blocks_;   // of the spill, those that are slabs_
  std::vector<uint32_t> removed_;  // numbers of no row
  RowBits captured_;               // by number
};

}  // namespace ps

#endif  // PS_TABLE_ROW_SLABS_H_
