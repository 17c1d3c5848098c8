// The algorithms by which trainers add sparse vectors of one parameter, as pure functions of the vectors in the
// order of ranks; the communicator does the exchange itself.  Used by strategies that send sparse vectors, and
// by the cost model.
//
// With n values, N trainers, k values sent by each, a union of U indices, and B bytes for an entry, a trainer
// receives
//
//   all-gather      (N - 1) k B                        everyone has all vectors, and adds them
//   owner-split     (N - 1) / N (k + U) B              trainer r owns [n r / N, n (r + 1) / N): it is sent
//                                                      the entries there, adds them, and sends the sum to all
//   dense           2 (N - 1) / N 4 n                  the whole gradient, reduced and gathered
//
// U is measured, or n (1 - (1 - k / n)^N) for trainers whose selections are independent.
//
// The values of an index are always added in the order of ranks, so that all-gather, owner-split and a dense
// reduction in that order give the same bits.
#ifndef PS_CODEC_SPARSE_EXCHANGE_H_
#define PS_CODEC_SPARSE_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codec/sparse_vector.h"

namespace ps {

enum class SparseExchange { kAllGather, kOwnerSplit, kDense };

// "all_gather", "owner_split", "dense"
std::string_view sparse_exchange_name(SparseExchange exchange);

struct ExchangeSizes {
  uint64_t elements = 0;                             // n
  uint64_t selected = 0;                             // k
  int num_trainers = 1;                              // N
  SparseEncoding encoding = SparseEncoding::kRun16;  // B
  std::optional<double> union_size = std::nullopt;   // U, if it was measured
};

// Returns the mean bytes of an entry of vectors with k of n values.  Runs that need several words and longer
// varints are counted with their probability for random indices.
double entry_bytes(SparseEncoding encoding, uint64_t elements, uint64_t selected);

// Returns the encoding of sums of vectors in this one: an owner does not round sums again.
SparseEncoding encoding_of_sums(SparseEncoding encoding);

// Returns the bytes that one trainer receives, by the formulas above.  Owners send sums in encoding_of_sums.
double exchange_bytes(SparseExchange exchange, const ExchangeSizes& sizes);

// Returns the exchange that moves the fewest bytes; the first of the list above in case of a tie.
SparseExchange cheapest_exchange(const ExchangeSizes& sizes);

// Returns the first index of trainer `rank`'s share, n rank / N.
uint64_t owner_begin(uint64_t elements, int num_trainers, int rank);

// Splits the entries of `sparse` by the trainers that own them.
std::vector<SparseVector> split_by_owner(const SparseVector& sparse, uint64_t elements, int num_trainers);

// Returns the sum of vectors, added in the order of ranks.
SparseVector add_vectors(std::span<const SparseVector> vectors);

// Joins the vectors of owners, given in the order of ranks.
SparseVector join_vectors(std::span<const SparseVector> vectors);

}  // namespace ps

#endif  // PS_CODEC_SPARSE_EXCHANGE_H_
