#include "codec/sparse_exchange.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace ps {

namespace {

constexpr std::array<std::string_view, 3> kExchangeNames = {"all_gather", "owner_split", "dense"};

// Returns entries [begin, end) of a vector.
SparseVector slice(const SparseVector& sparse, size_t begin, size_t end) {
  return {
      {sparse.index.begin() + static_cast<int64_t>(begin), sparse.index.begin() + static_cast<int64_t>(end)},
      {sparse.value.begin() + static_cast<int64_t>(begin), sparse.value.begin() + static_cast<int64_t>(end)}};
}

// Returns the sum of two vectors; where both have an index, the value of `first` is the left operand.
SparseVector add_two(const SparseVector& first, const SparseVector& second) {
  SparseVector sum;
  sum.index.reserve(first.size() + second.size());
  sum.value.reserve(first.size() + second.size());
  size_t a = 0, b = 0;
  while (a < first.size() || b < second.size()) {
    const bool has_a = b == second.size() || (a < first.size() && first.index[a] <= second.index[b]);
    const bool has_b = a == first.size() || (b < second.size() && second.index[b] <= first.index[a]);
    sum.index.push_back(has_a ? first.index[a] : second.index[b]);
    sum.value.push_back(has_a && has_b ? first.value[a] + second.value[b]
                        : has_a        ? first.value[a]
                                       : second.value[b]);
    a += has_a ? 1 : 0, b += has_b ? 1 : 0;
  }
  return sum;
}

// Returns the mean bytes of a run's varint if each value is selected with probability p: a run is at least r
// long with probability (1 - p)^r.
double varint_bytes(double p) {
  double bytes = 1;
  for (int bits = 7; bits < 35; bits += 7) bytes += std::pow(1 - p, std::exp2(bits));
  return bytes;
}

// Returns the mean bytes of an entry of a sum: those of a vector unless sums are encoded in another way.
double sum_bytes(const ExchangeSizes& sizes, double part_bytes) {
  if (!rounds_values(sizes.encoding)) return part_bytes;
  return entry_bytes(encoding_of_sums(sizes.encoding), sizes.elements, sizes.selected);
}

}  // namespace

std::string_view sparse_exchange_name(SparseExchange exchange) {
  return kExchangeNames[static_cast<size_t>(exchange)];
}

// An entry is an index and a value.  The indices are taken as drawn at random, with the share p of all
// values, which gives the lengths of runs a geometric distribution.
double entry_bytes(SparseEncoding encoding, uint64_t elements, uint64_t selected) {
  const double p = elements > 0 ? static_cast<double>(selected) / static_cast<double>(elements) : 1;
  // The share of runs above 65535; the number of their words is a geometric series.
  const double skips = std::pow(1 - p, 65535.0);
  switch (encoding) {
    case SparseEncoding::kIndex32:
      return 8;
    case SparseEncoding::kRun16:
      return 6 + (skips < 1 ? 2 * skips / (1 - skips) : 0);
    case SparseEncoding::kVarint:
      return 4 + varint_bytes(p);
    case SparseEncoding::kVarintF16:
      return 2 + varint_bytes(p);
    case SparseEncoding::kVarintInt8:
      return 1 + varint_bytes(p);
    case SparseEncoding::kVarintInt2:
      return 0.25 + varint_bytes(p);
  }
  return 0;
}

SparseEncoding encoding_of_sums(SparseEncoding encoding) {
  return rounds_values(encoding) ? SparseEncoding::kVarint : encoding;
}

//   all_gather    each trainer gets the k values of all others
//   owner_split   each gets its part of the others' vectors, and gives out the sum of it
//   dense         a ring all-reduce of all n values: 2 (N - 1) / N n floats
// Without a measured union, `drawn` is the mean number of indices that some trainer selects if all draw at
// random: n (1 - (1 - k/n)^N).
double exchange_bytes(SparseExchange exchange, const ExchangeSizes& sizes) {
  const double n = static_cast<double>(sizes.elements), k = static_cast<double>(sizes.selected);
  const double trainers = sizes.num_trainers, others = trainers - 1;
  const double drawn = n > 0 ? n * (1 - std::pow(1 - k / n, trainers)) : 0;
  const double together = sizes.union_size.value_or(drawn);
  const double bytes = entry_bytes(sizes.encoding, sizes.elements, sizes.selected);
  switch (exchange) {
    case SparseExchange::kAllGather:
      return others * k * bytes;
    case SparseExchange::kOwnerSplit:
      return others / trainers * (k * bytes + together * sum_bytes(sizes, bytes));
    case SparseExchange::kDense:
      return 2 * others / trainers * sizeof(float) * n;
  }
  return 0;
}

// Among equal costs the one that is named first wins, so that all trainers choose the same one.
SparseExchange cheapest_exchange(const ExchangeSizes& sizes) {
  SparseExchange best = SparseExchange::kAllGather;
  for (SparseExchange other : {SparseExchange::kOwnerSplit, SparseExchange::kDense}) {
    if (exchange_bytes(other, sizes) < exchange_bytes(best, sizes)) best = other;
  }
  return best;
}

uint64_t owner_begin(uint64_t elements, int num_trainers, int rank) {
  PS_CHECK(elements <= kMaxSparseSize && rank >= 0 && rank <= num_trainers);
  return elements * static_cast<uint64_t>(rank) / static_cast<uint64_t>(num_trainers);
}

// Owners have ranges of indices of equal length, one behind the other, so each part is a slice.
std::vector<SparseVector> split_by_owner(const SparseVector& sparse, uint64_t elements, int num_trainers) {
  std::vector<SparseVector> vectors;
  size_t begin = 0;
  for (int rank = 0; rank < num_trainers; ++rank) {
    const uint64_t bound = owner_begin(elements, num_trainers, rank + 1);
    const auto end = std::lower_bound(sparse.index.begin(), sparse.index.end(), bound) - sparse.index.begin();
    vectors.push_back(slice(sparse, begin, static_cast<size_t>(end)));
    begin = static_cast<size_t>(end);
  }
  PS_CHECK(begin == sparse.size());
  return vectors;
}

// Merges the vectors one after the other into the sum, which fixes the order of addition for each index.
SparseVector add_vectors(std::span<const SparseVector> vectors) {
  SparseVector sum;
  for (const SparseVector& sparse : vectors) sum = add_two(sum, sparse);
  return sum;
}

// The vectors are those of owners in their order, so their indices ascend as a whole.
SparseVector join_vectors(std::span<const SparseVector> vectors) {
  SparseVector all;
  for (const SparseVector& sparse : vectors) {
    PS_CHECK(sparse.index.empty() || all.index.empty() || sparse.index.front() > all.index.back());
    all.index.insert(all.index.end(), sparse.index.begin(), sparse.index.end());
    all.value.insert(all.value.end(), sparse.value.begin(), sparse.value.end());
  }
  return all;
}

}  // namespace ps
