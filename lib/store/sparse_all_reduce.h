// sparse_all_reduce: adds the sparse vectors of trainers over a communicator, by the algorithms of
// codec/sparse_exchange.h.  Used by DgcExchange and SparseMoves.
#ifndef PS_STORE_SPARSE_ALL_REDUCE_H_
#define PS_STORE_SPARSE_ALL_REDUCE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "codec/sparse_exchange.h"
#include "codec/sparse_vector.h"
#include "collective/communicator.h"

namespace ps {

// The values that this trainer sends of one parameter; after the exchange, the sum over all trainers.
struct SparseShare {
  SparseVector vector;
  uint64_t elements = 0;  // the vector is of [0, elements)
  uint64_t selected = 0;  // the largest number of values of the vector, the same on all trainers
};

// The largest size of a message; larger vectors are exchanged dense, since a message of a gathering has a
// limit (ps-wire(5)).
inline constexpr uint64_t kMostPartBytes = uint64_t{64} << 20;

// Replaces the vectors by their sums.  All trainers call it with shares of the same parameters in the same
// order.  Values are added in the order of ranks, so that all_gather and owner_split give the same bits;
// dense gives them too if the communicator's all-reduce adds in that order.  Sums of owners travel as f32,
// whatever the encoding is.  Throws what the communicator throws, and kCorrupt for bytes that are not
// vectors.
void sparse_all_reduce(Communicator& communicator, SparseExchange exchange, SparseEncoding encoding,
                       std::span<SparseShare* const> shares);

// Does the same with the named exchange, or for each share with the one that moves the fewest bytes.
// Exchanges are made in the order of SparseExchange, and within one in that of the shares.
void sparse_all_reduce(Communicator& communicator, std::optional<SparseExchange> named,
                       SparseEncoding encoding, std::span<SparseShare> shares);

}  // namespace ps

#endif  // PS_STORE_SPARSE_ALL_REDUCE_H_
