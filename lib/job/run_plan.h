// The plan of a run, which --dry-run logs in place of the run.  Used by run_job.
#ifndef PS_JOB_RUN_PLAN_H_
#define PS_JOB_RUN_PLAN_H_

#include "base/log.h"
#include "config/json.h"
#include "data/reader.h"
#include "job/job.h"
#include "job/run_options.h"
#include "model/network.h"

namespace ps {

// Logs threads, kernels, layers and devices, and for training the tables.  Returns the plan of the tables
// (job/table_plan.h), or null for another task.  Only the rows of sparse tables make it read the data, and pipes
// are not read, so that they stay whole for training.
Json log_run_plan(const Job& job, const RunOptions& options, const Network<float>& network,
                  BatchReader& reader, Log& log);

}  // namespace ps

#endif  // PS_JOB_RUN_PLAN_H_
