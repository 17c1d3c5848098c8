// What a shard has of one parameter.  Used by ShardTables' own sources alone.
#ifndef PS_PS_SERVER_SHARD_TABLES_STATE_H_
#define PS_PS_SERVER_SHARD_TABLES_STATE_H_

#include <memory>

#include "ps/server/shard_tables.h"

namespace ps {

struct ShardTables::Holder {
  const ParameterSpec* spec;
  BlockCyclicRows deal;                 // of what is not sparse
  std::unique_ptr<SparseTable> sparse;  // at most one of the two: a shard may have none of a parameter
  std::unique_ptr<DenseTable> dense;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_TABLES_STATE_H_
