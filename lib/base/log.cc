#include "base/log.h"

#include <cstdio>

#include "base/printable.h"

namespace ps {

void Log::write(LogLevel level, const std::string& message) {
  if (!shows(level)) return;
  static constexpr const char* kNames[] = {": error: ", ": warning: ", "", ": debug: "};
  std::string line = level == LogLevel::kInfo ? "" : cat(program_, kNames[static_cast<int>(level)]);
  line += printable(message);  // some of it may come from a peer or a file
  line += '\n';
  std::lock_guard lock(mutex_);
  if (status_shown_) line.insert(0, "\r\x1b[K");
  status_shown_ = false;
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Log::status(const std::string& line) {
  std::lock_guard lock(mutex_);
  if (line.empty() && !status_shown_) return;
  std::string text = cat("\r\x1b[K", line);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  status_shown_ = !line.empty();
}

}  // namespace ps
