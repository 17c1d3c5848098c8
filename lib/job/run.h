// Runs a job: builds reader, network and store from it, then trains, tests, predicts or converts.  Used by
// ps-train.
#ifndef PS_JOB_RUN_H_
#define PS_JOB_RUN_H_

#include "base/log.h"
#include "job/job.h"
#include "job/run_options.h"

namespace ps {

// Returns false if `stop` ended it early.
bool run_job(const Job& job, const RunOptions& options, Log& log);

}  // namespace ps

#endif  // PS_JOB_RUN_H_
