// Rows as a shard stores them: weights with the state of their optimizer.  They travel in the answer to
// stored_rows, and back in return_rows.  Used by shards, by trainers that keep copies of the rows in use, and
// by those that train rows on a device.
//
//   stored      := key_list value:f32[values a row][keys] stamp:u32[keys]?     of one slice; see ps-wire(5)
//   return_rows := number:u64 num:u32 (parameter:u32 stored)[num] row_slices?
//
// The row slices name the keys of the next step, with their counts, of parameters that have a row policy.  The
// answer has, for each of these slices, a key_list of those keys that have no row.
#ifndef PS_PS_WIRE_STORED_ROWS_H_
#define PS_PS_WIRE_STORED_ROWS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "checkpoint/table_layout.h"
#include "ps/wire/protocol.h"
#include "table/row_block.h"

namespace ps {

// Appends the rows of one slice.
void encode_stored_rows(const RowBlock& rows, std::string& out);

// rows <- the rows of the next slice, at most `most`, of a table with this layout, which has no statistics.
// Throws kData.
void decode_stored_rows(ByteReader& in, const TableLayout& layout, size_t most, RowBlock& rows);

// Rows that a trainer returns to a shard, which sets them.
struct ReturnedRows {
  struct Slice {
    uint32_t parameter = 0;
    RowBlock rows;
  };

  uint64_t number = 0;  // number of this message among the trainer's to this shard, from 1 on
  std::vector<Slice> slices;
  std::vector<RowSlice> counted = {};  // the keys of the next step
};

// Returns the layout of a parameter whose rows may be returned; throws kData for another one.
using ReturnedLayout = std::function<TableLayout(uint32_t parameter)>;

std::string encode_returned_rows(const ReturnedRows& returned);

// Throws kData unless the whole body is well-formed.
ReturnedRows decode_returned_rows(std::string_view body, const ReturnedLayout& layout);

}  // namespace ps

#endif  // PS_PS_WIRE_STORED_ROWS_H_
