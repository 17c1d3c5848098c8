// Cuts a prepared batch into smaller ones, which share its rows: their plans have the keys of the whole.  Used by
// AccumulatedComputation.
#ifndef PS_FEED_CUT_BATCH_H_
#define PS_FEED_CUT_BATCH_H_

#include <cstdint>
#include <vector>

#include "model/network.h"
#include "model/prepared_batch.h"

namespace ps {

// parts <- the batch, `examples` at a time: the last has what is left.
void cut_batch(const Network<float>& network, const PreparedBatch& prepared, int64_t examples,
               std::vector<PreparedBatch>& parts);

}  // namespace ps

#endif  // PS_FEED_CUT_BATCH_H_
