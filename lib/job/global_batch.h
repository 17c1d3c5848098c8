// The examples of a step of all trainers together: the job file may give them in place of each trainer's, and scale the
// learning rate by them.  Used wherever a job's optimizer is made.
#ifndef PS_JOB_GLOBAL_BATCH_H_
#define PS_JOB_GLOBAL_BATCH_H_

#include <cstdint>

#include "base/cpu.h"
#include "job/job.h"
#include "optim/optimizer_plan.h"

namespace ps {

// Takes "auto" from data.batch_size where the document has data.global_batch_size, which decides instead.
void drop_open_batch(Json& document);

// Divides data.global_batch_size, if the job has it, by the trainers and the batches of a step of each; from then on
// the job has data.batch_size alone.  Throws kUsage where that leaves a rest, or `document` has both keys.
void divide_global_batch(const Json& document, Job& job);

// Throws kUsage where a step of a trainer has more examples than a batch may have.
void check_accumulate(const Job& job);

// The examples of a step of the job's trainers: of one of them alone where each makes steps of its own.
int64_t global_batch(const Job& job);

// The plan of the job's optimizer.
OptimizerPlan optimizer_plan(const Job& job, CpuLevel cpu = best_cpu_level());

}  // namespace ps

#endif  // PS_JOB_GLOBAL_BATCH_H_
