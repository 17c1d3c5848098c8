// Trains a job, also again from a checkpoint.  Used by run.cc.
#ifndef PS_JOB_TRAIN_RUN_H_
#define PS_JOB_TRAIN_RUN_H_

#include "base/log.h"
#include "job/job.h"
#include "job/run_options.h"
#include "membership/server_finder.h"

namespace ps {

// Trains.  If servers have lost state of the run, all trainers go back to the last checkpoint, and read the
// data from there again.  Returns false if `stop` ended it early.
bool train_job(const Job& job, RunOptions options, ServerFinder& servers, Log& log);

}  // namespace ps

#endif  // PS_JOB_TRAIN_RUN_H_
