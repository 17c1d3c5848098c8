// The job that the command line of ps-train names: by a job file, a recipe or a saved model, with the values of flags
// and of a launcher, and with those that follow from the data.  Used by ps-train.
#ifndef PS_JOB_JOB_FLAGS_H_
#define PS_JOB_JOB_FLAGS_H_

#include <optional>
#include <span>

#include "base/log.h"
#include "cli/flags.h"
#include "cli/launcher.h"
#include "data/look.h"
#include "job/job.h"

namespace ps {

// Returns the number of threads that --threads asks for; 0 stands for one a core.
int threads_flag(const Flags& flags);

// Returns the rank that a launcher has given this trainer, unless flags give one.
std::optional<LaunchedTrainer> find_launched(const Flags& flags);

// Makes the job from the job file, the flags, the overrides `more`, which come last, and the data.  `head`
// becomes the bytes that were read of standard input.  Returns nullopt when --print-config has printed the job;
// if no data are named, its open values are printed as they are.  Throws kUsage.
std::optional<Job> job_of_flags(const Flags& flags, const std::optional<LaunchedTrainer>& launched,
                                std::span<const Override> more, InputHead& head, Log& log);

}  // namespace ps

#endif  // PS_JOB_JOB_FLAGS_H_
