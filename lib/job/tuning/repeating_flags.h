// The flags of ps-train that have a job trained several times: --find-rate, --sweep and --folds.  Used by ps-train.
#ifndef PS_JOB_TUNING_REPEATING_FLAGS_H_
#define PS_JOB_TUNING_REPEATING_FLAGS_H_

#include "base/log.h"
#include "cli/flags.h"
#include "job/run_options.h"

namespace ps {

// Returns the name of the flag that has a job trained several times, or null when none is given.  Throws kUsage
// for a flag that goes with --sweep alone.
const char* repeating_flag(const Flags& flags);

// Trains as that flag asks, making the job anew for each training, and prints the result.  Throws kUsage for
// flags that do not go together, and the errors of training.
void run_repeatedly(const Flags& flags, const RunOptions& options, Log& log);

}  // namespace ps

#endif  // PS_JOB_TUNING_REPEATING_FLAGS_H_
