// The clock by which durations are measured.
#ifndef PS_BASE_CLOCK_H_
#define PS_BASE_CLOCK_H_

#include <chrono>

namespace ps {

// Seconds since some moment before the process began.  Never goes back.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace ps

#endif  // PS_BASE_CLOCK_H_
