// RefusalLog: logs the peers that were refused, so seldom that a flood of them cannot fill a disk.  Used by
// serve_job and RunPage.
#ifndef PS_JOB_REFUSAL_LOG_H_
#define PS_JOB_REFUSAL_LOG_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/log.h"

namespace ps {

// Any thread may use it.
class RefusalLog {
 public:
  explicit RefusalLog(Log& log) : log_(log) {}

  // Logs at most one line a second; the next line tells how many were left out.
  void add(const std::string& peer, const Error& reason);

 private:
  Log& log_;
  std::mutex mutex_;
  double last_ = -1;  // time of the last line; with num_unsaid_ guarded by mutex_
  uint64_t num_unsaid_ = 0;
};

}  // namespace ps

#endif  // PS_JOB_REFUSAL_LOG_H_
