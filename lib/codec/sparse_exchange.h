// How trainers add up sparse parts of one parameter, as pure functions of the parts in the order of ranks:
// the exchange itself is the communicator's.  Used by strategies that send sparse parts, and by the cost
// model.
//
// With n values, N trainers, k values sent by each, a union of U indices, and B bytes for an entry, a trainer
// receives
//
//   all-gather      (N - 1) k B                        everyone has all parts, and adds them
//   owner-split     (N - 1) / N (k + U) B              trainer r owns [n r / N, n (r + 1) / N): it is sent
//                                                      the entries there, adds them, and sends the sum to all
//   balanced        (N - 1) / N (k + min(k, U)) B      as owner-split, but an owner passes on k / N entries
//                                                      at most, and keeps the rest: 2 k B, whatever N (Li
//                                                      and Hoefler, PPoPP 2022)
//   dense           2 (N - 1) / N 4 n                  the whole gradient, reduced and gathered
//
// U is what is measured, or n (1 - (1 - k / n)^N) when trainers choose without regard to each other.
//
// An index's values are added in the order of ranks wherever they meet, so that all-gather, owner-split and a
// dense reduction in that order give the same bits.
#ifndef PS_CODEC_SPARSE_EXCHANGE_H_
#define PS_CODEC_SPARSE_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codec/sparse_part.h"

namespace ps {

enum class SparseExchange { kAllGather, kOwnerSplit, kBalanced, kDense };

// "all_gather", "owner_split", "balanced", "dense"
std::string_view sparse_exchange_name(SparseExchange exchange);

struct ExchangeSizes {
  uint64_t elements = 0;                             // n
  uint64_t selected = 0;                             // k
  int num_trainers = 1;                              // N
  SparseEncoding encoding = SparseEncoding::kRun16;  // B
  std::optional<double> union_size = std::nullopt;   // U, if it was measured
};

// Bytes of an entry, on the average over parts of k of n values.  An index that does not fit a run, or a
// longer varint, counts as often as it comes when indices are drawn at random.
double entry_bytes(SparseEncoding encoding, uint64_t elements, uint64_t selected);

// Bytes that one trainer receives, by the formulas above.
double exchange_bytes(SparseExchange exchange, const ExchangeSizes& sizes);

// The one that moves the fewest bytes; the first above where two are alike.  `may_keep` says that owners can
// keep entries back, as balanced asks.
SparseExchange cheapest_exchange(const ExchangeSizes& sizes, bool may_keep);

// First index of trainer `rank`'s part, n rank / N.
uint64_t owner_begin(uint64_t elements, int num_trainers, int rank);

// The entries of `part` that each trainer owns.
std::vector<SparsePart> split_by_owner(const SparsePart& part, uint64_t elements, int num_trainers);

// The sum of parts, in the order of ranks.
SparsePart add_parts(std::span<const SparsePart> parts);

// The parts of owners, in the order of ranks, as one.
SparsePart join_parts(std::span<const SparsePart> parts);

// Leaves the `count` largest entries in `part`, and returns the others.
SparsePart split_off_smallest(SparsePart& part, uint64_t count);

}  // namespace ps

#endif  // PS_CODEC_SPARSE_EXCHANGE_H_
