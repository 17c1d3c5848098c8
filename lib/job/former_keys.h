// The keys that job files had in earlier versions.  Used when a job file is read, which must have current keys,
// and when a checkpoint is read, which an earlier version may have written.
#ifndef PS_JOB_FORMER_KEYS_H_
#define PS_JOB_FORMER_KEYS_H_

#include "config/fwd.h"

namespace ps {

// Throws kUsage "train.mode: is now train.strategy…" if the job has such a key.  `document` is an object.
void refuse_former_keys(const Json& document);

// Returns the job with current keys.  Former keys without sense stay, and the parser refuses them.
Json rename_former_keys(Json document);

}  // namespace ps

#endif  // PS_JOB_FORMER_KEYS_H_
