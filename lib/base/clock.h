// The clock by which durations are measured.
#ifndef PS_BASE_CLOCK_H_
#define PS_BASE_CLOCK_H_

#include <time.h>

#include <chrono>

namespace ps {

// Seconds since some moment before the process began.  Never goes back.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds the seconds between its construction and its destruction to a sum.
class ScopedSeconds {
 public:
  explicit ScopedSeconds(double& sum) : sum_(sum) {}
  ~ScopedSeconds() { sum_ += monotonic_seconds() - start_; }
  ScopedSeconds(const ScopedSeconds&) = delete;
  ScopedSeconds& operator=(const ScopedSeconds&) = delete;

 private:
  double& sum_;
  const double start_ = monotonic_seconds();
};

inline double clock_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Processor seconds that the calling thread has used, and that all threads of the process have used.
inline double thread_cpu_seconds() {
  return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}
inline double process_cpu_seconds() {
  return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace ps

#endif  // PS_BASE_CLOCK_H_
