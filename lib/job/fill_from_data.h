// Fills in the open values of a job from the data that it names.  Used by ps-train.
#ifndef PS_JOB_FILL_FROM_DATA_H_
#define PS_JOB_FILL_FROM_DATA_H_

#include <string>

#include "base/log.h"
#include "config/json.h"
#include "data/look.h"

namespace ps {

// Looks at data.files of the document, or else at standard input, fills in its open values (job/open_values.h),
// and logs them.  The largest id includes those of the test files.  Returns the part of standard input that was
// read for this, if any; the reader of the data must read that part first.  Throws the errors of reading, and
// kUsage.
InputHead fill_from_data(Json& document, int threads, Log& log);

}  // namespace ps

#endif  // PS_JOB_FILL_FROM_DATA_H_
