// The keys that job files had in earlier versions.  Used where a job file is read, which must have those of
// today, and where a checkpoint is, which may have been written then.
#ifndef PS_JOB_FORMER_KEYS_H_
#define PS_JOB_FORMER_KEYS_H_

#include "config/fwd.h"

namespace ps {

// Throws kUsage "train.mode: is now train.strategy…" when the job has such a key.  `document` is an object.
void refuse_former_keys(const Json& document);

// The job in today's keys.  Former keys that make no sense stay, for the parser to refuse.
Json rename_former_keys(Json document);

}  // namespace ps

#endif  // PS_JOB_FORMER_KEYS_H_
