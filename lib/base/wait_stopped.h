// WaitStopped: the error that calls throw instead of waiting for other processes when this process is to end:
// calls of a store, of a group of trainers, of ServerFinder.  The training loop and saves catch it, and end
// early.
#ifndef PS_BASE_WAIT_STOPPED_H_
#define PS_BASE_WAIT_STOPPED_H_

#include "base/error.h"

namespace ps {

// This process is to end, and the others for which it waits may never come: they may have ended too.
class WaitStopped final : public Error {
 public:
  WaitStopped() : Error(Code::kUnavailable, "ended while it waited for others") {}
};

}  // namespace ps

#endif  // PS_BASE_WAIT_STOPPED_H_
