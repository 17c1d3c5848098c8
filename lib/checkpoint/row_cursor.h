// Cursors: rows and keys in ascending order, block by block, in bounded memory.  Used to restore, convert and
// compare checkpoints.
#ifndef PS_CHECKPOINT_ROW_CURSOR_H_
#define PS_CHECKPOINT_ROW_CURSOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/table_layout.h"
#include "table/row_block.h"

namespace ps {

// One owner thread.
class RowCursor {
 public:
  virtual ~RowCursor() = default;

  // Returns the next rows, valid until the next call; null at the end.  A block is never empty.
  virtual const RowBlock* next() = 0;
};

class KeyCursor {
 public:
  virtual ~KeyCursor() = default;
  virtual const std::vector<uint64_t>* next() = 0;
};

// Walks through the rows of a cursor one by one.
class RowStepper {
 public:
  explicit RowStepper(RowCursor* cursor) : cursor_(cursor) { refill(); }

  bool valid() const { return block_ != nullptr; }
  uint64_t key() const { return block_->keys[index_]; }
  const RowBlock& block() const { return *block_; }
  size_t index() const { return index_; }

  void advance() {
    if (++index_ == block_->size()) refill();
  }

 private:
  void refill() {
    block_ = cursor_->next();
    index_ = 0;
  }

  RowCursor* cursor_;
  const RowBlock* block_ = nullptr;
  size_t index_ = 0;
};

// Returns true if row `i` of `a` and row `j` of `b`, both of this layout, are equal bit for bit.
bool same_row(const TableLayout& layout, const RowBlock& a, size_t i, const RowBlock& b, size_t j);

// Appends row `i` of `from` to `to`.
void append_row(const TableLayout& layout, const RowBlock& from, size_t i, RowBlock& to);

// Returns the rows of a full checkpoint with an increment applied: `changes` replace and add rows, keys in
// `gone` are left out.
std::unique_ptr<RowCursor> merged_rows(const TableLayout& layout, std::unique_ptr<RowCursor> base,
                                       std::unique_ptr<RowCursor> changes, std::unique_ptr<KeyCursor> gone);

}  // namespace ps

#endif  // PS_CHECKPOINT_ROW_CURSOR_H_
