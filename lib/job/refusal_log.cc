#include "job/refusal_log.h"

#include "base/clock.h"

namespace ps {

// Logs at most one refusal in kSecondsBetween, and counts the others, so that a stranger who tries again
// and again does not fill the log.  The lock is given back before the log is written.
void RefusalLog::add(const std::string& peer, const Error& reason) {
  constexpr double kSecondsBetween = 1;
  std::string others;
  {
    const std::lock_guard lock(mutex_);
    const double now = monotonic_seconds();
    if (last_ >= 0 && now - last_ < kSecondsBetween) return void(++num_unsaid_);
    if (num_unsaid_ > 0) others = cat(", after ", num_unsaid_, " others");
    last_ = now;
    num_unsaid_ = 0;
  }
  log_.warning("refused ", peer, others, ": ", reason.message());
}

}  // namespace ps
