// MovedExamples: one random permutation of the examples of all trainers, of which each holds a share, and gets those of its
// batches from the others while it trains.  Used by BatchReader for data.shuffle "global".
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

// The examples of all trainers, and the share that this one holds of them: all of every W-th file, or every W-th batch of
// all files, W being the number of trainers.
struct HeldShare {
  const ExampleStore* held = nullptr;
  std::vector<int64_t>
      file_sizes;     // examples of each file that this trainer holds; empty: batches are dealt out
  int64_t total = 0;  // of all trainers, when batches are dealt out
  int64_t batch_size = 1;
};

// Gives the batches number r, r + W, … of the permutation to trainer r, who takes or skips all batches in turn: batches of
// others are empty.  The permutation is that of `permuted` for a trainer that holds all files.
//
// A thread exchanges examples ahead of the batches that are asked for, some thousand of each trainer at a time, until the
// last trainer has its last batch.  `exchange` and the store outlive it.  When it is destroyed before its end it stops the
// exchange.  take throws what the exchange throws; kData when trainers are not at the same place.
std::unique_ptr<ExampleOrder> moved_between_trainers(HeldShare share, ExampleExchange& exchange,
                                                     Random random);

}  // namespace ps

#endif  // PS_DATA_MOVED_EXAMPLES_H_
