// The task convert, which writes data in another format.  Used by run_job.
#ifndef PS_JOB_CONVERT_H_
#define PS_JOB_CONVERT_H_

#include "base/log.h"
#include "job/job.h"
#include "job/run_options.h"

namespace ps {

// Writes the job's examples to options.output in options.output_format.  Returns false if options.stop ended it
// early.  Throws kUsage if the format cannot hold them.
bool convert_data(const Job& job, const RunOptions& options, Log& log);

}  // namespace ps

#endif  // PS_JOB_CONVERT_H_
