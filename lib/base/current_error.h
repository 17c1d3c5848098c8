// The exception that is being handled, as an error.  Used by all who may not let one pass: threads, sessions, loops.
#ifndef PS_BASE_CURRENT_ERROR_H_
#define PS_BASE_CURRENT_ERROR_H_

#include "base/error.h"

namespace ps {

// To be called in a catch-all.  Without memory it is kExhausted, an exception that is none of ours kInternal.
Error current_error();

}  // namespace ps

#endif  // PS_BASE_CURRENT_ERROR_H_
