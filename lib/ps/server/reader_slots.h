// ReaderSlots: the share of a server's connections that readers may have, so that trainers find one.  Used by
// ShardHost.
#ifndef PS_PS_SERVER_READER_SLOTS_H_
#define PS_PS_SERVER_READER_SLOTS_H_

#include <cstddef>

#include "base/error.h"

namespace ps {

// One owner thread.
class ReaderSlots {
 public:
  explicit ReaderSlots(size_t most) : most_(most) {}

  // join takes a slot for a reader that is welcomed, and leave frees it. join throws kUnavailable if all are
  // taken.
  void join() {
    if (taken_ >= most_) fail(Code::kUnavailable, "too many readers, at most ", most_);
    ++taken_;
  }
  void leave() { --taken_; }

  bool any() const { return taken_ > 0; }

 private:
  const size_t most_;
  size_t taken_ = 0;
};

}  // namespace ps

#endif  // PS_PS_SERVER_READER_SLOTS_H_
