// measure_batch: gives the figures of a batch to an evaluator.  Used by Measures.
#ifndef PS_MODEL_MEASURE_BATCH_H_
#define PS_MODEL_MEASURE_BATCH_H_

#include "data/batch.h"
#include "model/computation.h"
#include "model/evaluator.h"

namespace ps {

// An evaluator that runs on the device of the network reads predictions there, if they are there.  Evaluators of log
// losses get those that the network has computed, if there are any, which are more exact than logarithms of its
// predictions.
void measure_batch(const BatchFigures& figures, const Batch& batch, Evaluator& evaluator);

}  // namespace ps

#endif  // PS_MODEL_MEASURE_BATCH_H_
