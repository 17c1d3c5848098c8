// Merges cursors: gives the rows of all partitions of a table in the order of their keys.  Used to write
// models and to compare checkpoints.
#ifndef PS_CHECKPOINT_MERGED_CURSOR_H_
#define PS_CHECKPOINT_MERGED_CURSOR_H_

#include <functional>
#include <memory>
#include <vector>

#include "checkpoint/row_cursor.h"

namespace ps {

// The keys of all cursors must be distinct.  Rows for which `keep` returns false are left out; it is called
// in the order of keys.  Null: all rows are kept.
using KeepRow = std::function<bool(const RowBlock& rows, size_t index)>;
std::unique_ptr<RowCursor> merged_partitions(const TableLayout& layout,
                                             std::vector<std::unique_ptr<RowCursor>> cursors, KeepRow keep);

}  // namespace ps

#endif  // PS_CHECKPOINT_MERGED_CURSOR_H_
