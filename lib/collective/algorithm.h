// The catalogue of all-reduce algorithms.  Used by communicators, benchmarks, and tests that walk it.
//
// Adding one is a file in collective/algorithms/ that ends in its entry, and a line in catalog.cc there.
#ifndef PS_COLLECTIVE_ALGORITHM_H_
#define PS_COLLECTIVE_ALGORITHM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collective/elements.h"
#include "collective/exchange.h"

namespace ps {

struct AllReduceAlgorithm {
  const char* name;
  const char* help;
  uint8_t number;  // on the wire: never renumber
  // True if each sum is ((x0 + x1) + x2) + ... over the ranks, with the same bits as a parameter server's.
  bool in_rank_order;

  // Replaces `data` of every rank by the sum over the ranks, with the same bits on all ranks.
  void (*run)(Exchange& exchange, Elements data);

  // Returns the bytes that the busiest rank sends for `data_bytes`, without headers, if elements divide
  // evenly.
  double (*most_sent)(double data_bytes, int size);
};

// All algorithms; those that add in rank order come first.
std::span<const AllReduceAlgorithm* const> all_reduce_catalog();

// Finds an algorithm by its name; throws kUsage with the nearest name.
const AllReduceAlgorithm& all_reduce_algorithm(std::string_view name);

}  // namespace ps

#endif  // PS_COLLECTIVE_ALGORITHM_H_
