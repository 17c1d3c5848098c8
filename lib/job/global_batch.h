// The number of examples of a step of all trainers together.  The job file may give it in place of each
// trainer's, and scale the learning rate by it.  Used wherever a job's optimizer is made.
#ifndef PS_JOB_GLOBAL_BATCH_H_
#define PS_JOB_GLOBAL_BATCH_H_

#include <cstdint>

#include "base/cpu.h"
#include "job/job.h"
#include "optim/optimizer_plan.h"

namespace ps {

// Removes "auto" from data.batch_size if the document has data.global_batch_size, which decides instead.
void drop_open_batch(Json& document);

// Divides data.global_batch_size, if the job has it, by the number of trainers and of batches in a step of
// each.  After that the job has data.batch_size alone.  Throws kUsage if there is a remainder, or if `document`
// has both keys.
void divide_global_batch(const Json& document, Job& job);

// Throws kUsage if a step of a trainer has more examples than a batch may have.
void check_accumulate(const Job& job);

// Returns the number of examples of a step of all trainers, or of one trainer if each makes steps of its own.
int64_t global_batch(const Job& job);

// Returns the plan of the job's optimizer.
OptimizerPlan optimizer_plan(const Job& job, CpuLevel cpu = best_cpu_level());

}  // namespace ps

#endif  // PS_JOB_GLOBAL_BATCH_H_
