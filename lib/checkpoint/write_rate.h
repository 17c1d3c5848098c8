// WriteRate: limits writing to a number of bytes a second.  Shared by all writers of checkpoints in a
// process.
#ifndef PS_CHECKPOINT_WRITE_RATE_H_
#define PS_CHECKPOINT_WRITE_RATE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/clock.h"

namespace ps {

// Any thread.
class WriteRate {
 public:
  explicit WriteRate(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // Blocks until these bytes may be written.
  void take(uint64_t bytes) {
    double wait = 0;
    {
      std::lock_guard lock(mutex_);
      const double now = monotonic_seconds();
      free_at_ = std::max(free_at_, now);
      wait = free_at_ - now;
      free_at_ += static_cast<double>(bytes) / bytes_per_second_;
    }
    if (wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
  }

 private:
  const double bytes_per_second_;
  std::mutex mutex_;
  double free_at_ = 0;  // guarded by mutex_: the time at which all bytes so far are written at this rate
};

}  // namespace ps

#endif  // PS_CHECKPOINT_WRITE_RATE_H_
