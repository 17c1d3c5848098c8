// The keys of a job file that say how large a step is: the batch of each trainer, or in place of it that of all trainers
// together.  Used by make_job.
#ifndef PS_JOB_BATCH_SIZE_H_
#define PS_JOB_BATCH_SIZE_H_

#include <cstdint>

#include "config/fwd.h"
#include "data/options.h"

namespace ps {

// Removes "auto" from data.batch_size if the document has data.global_batch_size, which decides instead.
void drop_open_batch(Json& document);

// Divides data.global_batch_size, if the job has it, by the number of trainers and of batches in a step of
// each.  After that the job has data.batch_size alone.  Throws kUsage if there is a remainder, or if `document`
// has both keys.
void divide_global_batch(const Json& document, int64_t trainers, int64_t accumulate, DataOptions& data);

// Throws kUsage if a step of a trainer has more examples than a batch may have.
void check_accumulate(const DataOptions& data, int64_t accumulate);

}  // namespace ps

#endif  // PS_JOB_BATCH_SIZE_H_
