// BlockCyclicRows: the rows of a dense parameter that one of several owners has.  Blocks of rows go to the
// owners in turn (block-cyclic distribution), so that every owner has its share of every parameter.  Used by
// dense tables, and by clients to find the owner of a row.
#ifndef PS_TABLE_BLOCK_CYCLIC_H_
#define PS_TABLE_BLOCK_CYCLIC_H_

#include <algorithm>
#include <cstdint>

namespace ps {

// An owner numbers its own rows from 0, in the order of the parameter's rows.
struct BlockCyclicRows {
  int64_t rows = 0;        // rows of the whole parameter
  int64_t block_rows = 1;  // rows of a block; the last one may have fewer
  int64_t num_owners = 1;  // owners of the parameter
  int64_t owner = 0;       // this owner, in [0, num_owners)

  static BlockCyclicRows whole(int64_t rows) { return {rows, std::max<int64_t>(1, rows), 1, 0}; }

  int64_t owner_of(int64_t row) const { return row / block_rows % num_owners; }

  int64_t own_rows() const {
    int64_t blocks = (rows + block_rows - 1) / block_rows;
    int64_t own = (blocks - owner + num_owners - 1) / num_owners;
    bool has_last = blocks > 0 && (blocks - 1) % num_owners == owner;
    return own * block_rows - (has_last ? blocks * block_rows - rows : 0);
  }

  // Convert between row numbers of the parameter and numbers of the owner's rows.
  int64_t global(int64_t own) const {
    return (own / block_rows * num_owners + owner) * block_rows + own % block_rows;
  }
  int64_t local(int64_t row) const { return row / block_rows / num_owners * block_rows + row % block_rows; }
};

}  // namespace ps

#endif  // PS_TABLE_BLOCK_CYCLIC_H_
