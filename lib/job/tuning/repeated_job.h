// Checks jobs that are trained several times by one process.  Used by sweeps and by the rate finder.
#ifndef PS_JOB_TUNING_REPEATED_JOB_H_
#define PS_JOB_TUNING_REPEATED_JOB_H_

#include <string_view>

#include "job/job.h"

namespace ps {

// Throws kUsage, naming `what` ("a sweep"), for jobs of several processes, and for data that cannot be read again.
void check_can_repeat(const Job& job, std::string_view what);

}  // namespace ps

#endif  // PS_JOB_TUNING_REPEATED_JOB_H_
