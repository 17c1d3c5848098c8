// Placement: which shard has which keys and rows.  Everybody computes it in the same way from the numbers of
// shards, so that nobody has to be asked.
#ifndef PS_STORE_PLACEMENT_H_
#define PS_STORE_PLACEMENT_H_

#include <cstdint>
#include <string>

#include "base/error.h"
#include "optim/parameter.h"
#include "table/block_cyclic.h"
#include "table/table_partition.h"

namespace ps {

// One shard among the shards of a job.  Shards with dense parameters are numbered in the order of the servers
// and their ports, those with sparse ones likewise; a shard may be both.
struct ShardPlace {
  int num_dense = 1, dense = 0;    // -1: has no dense parameters
  int num_sparse = 1, sparse = 0;  // -1: has no sparse ones

  bool operator==(const ShardPlace&) const = default;
};

// "d0-s1": in names of files and states.  On disk.
inline std::string place_name(const ShardPlace& place) {
  return cat("d", place.dense, "-s", place.sparse);
}

// Partitions are dealt round over the shards with sparse parameters.
inline int shard_of_key(uint64_t key, int num_sparse) {
  return static_cast<int>(key_partition(key)) % num_sparse;
}

// Blocks of about 64 KiB: a cache's worth of work, and a parameter of a megabyte is spread over 16 shards.
// The first block of parameter number p goes to shard p, so that small ones are spread too.
inline constexpr int64_t kDenseBlockBytes = 64 << 10;

inline int dense_shard(const BlockCyclicRows& deal, int64_t parameter, int64_t holder) {
  return static_cast<int>((holder + parameter) % deal.holders);
}

// The rows that shard number `dense` has of a parameter that is not sparse.
inline BlockCyclicRows dense_blocks(const ParameterSpec& spec, int64_t parameter, int num_dense, int dense) {
  int64_t row_bytes = spec.cols * static_cast<int64_t>(sizeof(float));
  int64_t holder = ((dense - parameter) % num_dense + num_dense) % num_dense;
  return {spec.rows, std::max<int64_t>(1, kDenseBlockBytes / row_bytes), num_dense, holder};
}

}  // namespace ps

#endif  // PS_STORE_PLACEMENT_H_
