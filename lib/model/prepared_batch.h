// PreparedBatch: a batch and the rows that it needs, each key once.  Made by `feed`, taken by the network, the
// store and the training loop.
#ifndef PS_MODEL_PREPARED_BATCH_H_
#define PS_MODEL_PREPARED_BATCH_H_

#include <cstdint>
#include <vector>

#include "data/batch.h"
#include "math/key_plan.h"

namespace ps {

// Ids that a layer draws for a batch ahead of forward: KeyList by value.
struct SampledKeys {
  std::vector<uint32_t> offsets;  // [B + 1]
  std::vector<Key> keys;          // [K]
};

// The plans refer to the arrays of the batch and of the samples: move it, but do not copy it.
struct PreparedBatch {
  Batch batch;
  bool training = true;
  int64_t step = 0;                  // numbers the batches of training
  std::vector<KeyPlan> plans;        // one a parameter; empty but for kRows
  std::vector<SampledKeys> samples;  // one a use; empty but for the first sampled use of a layer
};

}  // namespace ps

#endif  // PS_MODEL_PREPARED_BATCH_H_
