// Rows as a shard stores them, weights with the state of their optimizer, in the answer to stored_rows.  Used by shards,
// and by trainers that keep copies of the rows in use.
//
//   stored := key_list value:f32[values a row][keys] stamp:u32[keys]?          of one slice, and ps-wire(5) says it too
#ifndef PS_PS_WIRE_STORED_ROWS_H_
#define PS_PS_WIRE_STORED_ROWS_H_

#include <string>

#include "base/bytes.h"
#include "checkpoint/table_layout.h"
#include "table/row_block.h"

namespace ps {

// Appends the rows of one slice.
void encode_stored_rows(const RowBlock& rows, std::string& out);

// rows <- the next slice's, of a table of this layout, which has no statistics: at most so many.  Throws kData.
void decode_stored_rows(ByteReader& in, const TableLayout& layout, size_t most, RowBlock& rows);

}  // namespace ps

#endif  // PS_PS_WIRE_STORED_ROWS_H_
