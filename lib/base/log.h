// Messages for people, on standard error.  main makes a Log and passes it down; nothing else prints to
// standard error.
#ifndef PS_BASE_LOG_H_
#define PS_BASE_LOG_H_

#include <mutex>
#include <string>

#include "base/text.h"

namespace ps {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

// Any thread may log.  A line is written whole.  Info has no prefix; others have "program: warning: ".
class Log {
 public:
  Log(std::string program, LogLevel level) : program_(std::move(program)), level_(level) {}

  template <class... Parts>
  void error(const Parts&... parts) {
    write(LogLevel::kError, cat(parts...));
  }
  template <class... Parts>
  void warning(const Parts&... parts) {
    write(LogLevel::kWarning, cat(parts...));
  }
  template <class... Parts>
  void info(const Parts&... parts) {
    write(LogLevel::kInfo, cat(parts...));
  }
  template <class... Parts>
  void debug(const Parts&... parts) {
    write(LogLevel::kDebug, cat(parts...));
  }

  bool shows(LogLevel level) const { return level <= level_; }

  // A line that the next one overwrites (the progress bar); empty clears it.
  void status(const std::string& line);

 private:
  void write(LogLevel level, const std::string& message);

  const std::string program_;
  const LogLevel level_;
  std::mutex mutex_;
  bool status_shown_ = false;  // guarded by mutex_
};

}  // namespace ps

#endif  // PS_BASE_LOG_H_
