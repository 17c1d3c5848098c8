// The number of examples of a step of all trainers together, by which the learning rate may be scaled.  Used wherever
// a job's optimizer is made; job/batch_size.h has what the job file says of it.
#ifndef PS_JOB_GLOBAL_BATCH_H_
#define PS_JOB_GLOBAL_BATCH_H_

#include <cstdint>

#include "base/cpu.h"
#include "job/job.h"
#include "optim/optimizer_plan.h"

namespace ps {

// Returns the number of examples of a step of all trainers, or of one trainer if each makes steps of its own.
int64_t global_batch(const Job& job);

// Returns the plan of the job's optimizer.
OptimizerPlan optimizer_plan(const Job& job, CpuLevel cpu = best_cpu_level());

}  // namespace ps

#endif  // PS_JOB_GLOBAL_BATCH_H_
