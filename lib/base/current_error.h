// The exception that is being handled, as an error.  Used where no exception may escape: in threads, sessions
// and loops.
#ifndef PS_BASE_CURRENT_ERROR_H_
#define PS_BASE_CURRENT_ERROR_H_

#include "base/error.h"

namespace ps {

// To be called in a catch-all handler. std::bad_alloc becomes kExhausted; any other exception that is not an
// Error becomes kInternal.
Error current_error();

}  // namespace ps

#endif  // PS_BASE_CURRENT_ERROR_H_
