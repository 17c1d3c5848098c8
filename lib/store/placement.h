// Placement: maps keys and rows to shards.  All processes compute it in the same way from the numbers of
// shards, without asking each other.
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
// and their ports; shards with sparse parameters likewise.  A shard may have both.
struct ShardPlace {
  int num_dense = 1, dense = 0;    // dense -1: the shard has no dense parameters
  int num_sparse = 1, sparse = 0;  // sparse -1: the shard has no sparse parameters

  bool operator==(const ShardPlace&) const = default;
};

// Returns a name such as "d0-s1", for names of files and states.  On disk.
inline std::string place_name(const ShardPlace& place) {
  return cat("d", place.dense, "-s", place.sparse);
}

// Partitions go in turn to the shards with sparse parameters.
inline int shard_of_key(uint64_t key, int num_sparse) {
  return static_cast<int>(key_partition(key)) % num_sparse;
}

// Blocks have about 64 KiB: such a block fits into a cache, and a parameter of a megabyte is spread over 16
// shards.  The first block of parameter number p goes to shard p, so that small parameters are spread too.
inline constexpr int64_t kDenseBlockBytes = 64 << 10;

inline int dense_shard(const BlockCyclicRows& deal, int64_t parameter, int64_t owner) {
  return static_cast<int>((owner + parameter) % deal.num_owners);
}

// Returns the rows of a parameter that is not sparse on shard number `dense`.
inline BlockCyclicRows dense_blocks(const ParameterSpec& spec, int64_t parameter, int num_dense, int dense) {
  int64_t row_bytes = spec.cols * static_cast<int64_t>(sizeof(float));
  int64_t owner = ((dense - parameter) % num_dense + num_dense) % num_dense;
  return {spec.rows, std::max<int64_t>(1, kDenseBlockBytes / row_bytes), num_dense, owner};
}

}  // namespace ps

#endif  // PS_STORE_PLACEMENT_H_
