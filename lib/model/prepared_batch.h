// PreparedBatch: a batch and the rows that it needs, each key once.  Made by `feed`, taken by the network, the
// store and the training loop.
#ifndef PS_MODEL_PREPARED_BATCH_H_
#define PS_MODEL_PREPARED_BATCH_H_

#include <cstdint>
#include <vector>

#include "data/batch.h"
#include "math/key_plan.h"

namespace ps {

// Ids that a layer draws for a batch before forward: a KeyList that owns its arrays.
struct SampledKeys {
  std::vector<uint32_t> offsets;  // [B + 1]
  std::vector<Key> keys;          // [K]
};

// The plans refer to the arrays of the batch and of the samples: move it, but do not copy it.
struct PreparedBatch {
  Batch batch;
  bool training = true;
  int64_t step = 0;                  // number of the training batch
  std::vector<KeyPlan> plans;        // by parameter; empty except for kRows
  std::vector<SampledKeys> samples;  // by use; empty except for the first sampled use of a layer
};

}  // namespace ps

#endif  // PS_MODEL_PREPARED_BATCH_H_
