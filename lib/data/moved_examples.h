// MovedExamples: one random permutation of the examples of all trainers.  Each trainer holds a share of the
// examples, and gets those of its batches from the others while it trains.  Used by BatchReader for
// data.shuffle "global".
#ifndef PS_DATA_MOVED_EXAMPLES_H_
#define PS_DATA_MOVED_EXAMPLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "data/example_exchange.h"
#include "data/example_store.h"
#include "data/shuffle.h"

namespace ps {

// The share of all trainers' examples that this one holds: all examples of every W-th file, or every W-th batch
// of all files, where W is the number of trainers.
struct HeldShare {
  const ExampleStore* held = nullptr;
  // By file of this trainer: its number of examples; empty: batches are dealt out.
  std::vector<int64_t> file_sizes;
  int64_t total = 0;  // number of all trainers' examples, if batches are dealt out
  int64_t batch_size = 1;
};

// Gives the batches number r, r + W, … of the permutation to trainer r.  It takes or skips all batches in turn;
// those of others are empty.  The permutation is that of `permuted` for a trainer that holds all files.
//
// A thread exchanges examples ahead of the batches that are asked for, some thousand of each trainer at a time,
// until the last trainer has its last batch.  `exchange` and the store outlive the order.  If the order is
// destroyed before its end, it stops the exchange. take throws the errors of the exchange, and kData if
// trainers are not at the same position.
std::unique_ptr<ExampleOrder> moved_between_trainers(HeldShare share, ExampleExchange& exchange,
                                                     Random random);

}  // namespace ps

#endif  // PS_DATA_MOVED_EXAMPLES_H_
