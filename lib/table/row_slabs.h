// RowSlabs: rows by number, in slabs that never move while they are in memory.  Used by ArrayRows and
// TablePartition.
#ifndef PS_TABLE_ROW_SLABS_H_
#define PS_TABLE_ROW_SLABS_H_

#include <cstdint>
#include <vector>

#include "base/huge_pages.h"
#include "table/row_bits.h"
#include "table/row_layout.h"
#include "table/row_spill.h"

namespace ps {

// Numbers go from 0 in the order in which rows were added; the numbers of removed rows are reused, the last
// removed first.  One thread at a time; the arena must outlive it.
class RowSlabs {
 public:
  // Slabs take about slab_bytes, and hold at least one row.  With `spill`, which must outlive this object,
  // slabs are blocks of the spill and may be on disk; this object must then not be moved.
  RowSlabs(const RowLayout& layout, uint64_t slab_bytes, HugeArena& arena, RowSpill* spill = nullptr);

  // Adds a row, whose floats are not set, and returns its number.  Throws kExhausted when memory is full, or
  // after 2^32 - 2 rows.
  uint32_t add();

  // Pins the blocks of the removed rows that the next `rows` calls of add() will reuse: they are in memory
  // after the next RowSpill::load().
  void pin_next(uint64_t rows);

  // Removes a row.  The next call of add() reuses its number.
  void remove(uint32_t number);

  // Sets a row's bit for the running snapshot.  Returns false if it was set already.
  bool capture(uint32_t number) { return captured_.set(number, end_); }
  void clear_captured() { captured_.clear(); }

  // For slabs that may be on disk: pin calls RowSpill::pin; plan_read plans to read the floats of a row with
  // RowSpill::plan_read.
  void pin(uint32_t number) { spill_->pin(blocks_[number >> bits_]); }
  bool is_resident(uint32_t number) const { return slabs_[number >> bits_] != nullptr; }
  void plan_read(uint32_t number, float* to) const;

  float* row(uint32_t number) const { return slabs_[number >> bits_] + (number & mask_) * stride_; }
  uint32_t size() const { return end_ - static_cast<uint32_t>(removed_.size()); }
  uint64_t memory_bytes() const;  // includes the slabs in memory, not those on disk

 private:
  void add_slab();
  uint64_t slab_bytes() const { return (uint64_t{1} << bits_) * stride_ * sizeof(float); }

  HugeArena* arena_;
  RowSpill* spill_;     // null: all slabs are in memory
  uint32_t owner_ = 0;  // number in the spill
  uint64_t stride_;     // floats from a row to the next
  uint32_t bits_, mask_;
  uint32_t end_ = 0;               // all numbers in use or removed are below it
  std::vector<float*> slabs_;      // 2^bits_ rows each; null: on disk
  uint64_t resident_bytes_ = 0;    // bytes of the slabs in memory
  std::vector<uint32_t> blocks_;   // the number in the spill of each of slabs_
  std::vector<uint32_t> removed_;  // numbers of removed rows, to be reused
  RowBits captured_;               // indexed by row number
};

}  // namespace ps

#endif  // PS_TABLE_ROW_SLABS_H_
