// MissingServers: the servers for which a trainer waits, as its status page names them.  Filled in by run_job's
// parts, read by RunPage.
#ifndef PS_JOB_MISSING_SERVERS_H_
#define PS_JOB_MISSING_SERVERS_H_

#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "config/json.h"

namespace ps {

// Any thread may use it.
class MissingServers {
 public:
  // Notes that a server is missing, as the message says, which names it; an empty message means that the server
  // is there.
  void note(const std::string& server, const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (message.empty()) {
      missing_.erase(server);
      return;
    }
    missing_.try_emplace(server, Missing{.message = "", .since = monotonic_seconds()}).first->second.message =
        message;
  }

  // Forgets all servers, before a trainer looks for them anew.
  void clear() {
    const std::lock_guard lock(mutex_);
    missing_.clear();
  }

  // Returns [{"message":, "seconds": since it was first noted}, ...].
  Json json() const {
    const std::lock_guard lock(mutex_);
    Json list = Json::array();
    for (const auto& [server, missing] : missing_)
      list.push_back({{"message", missing.message}, {"seconds", monotonic_seconds() - missing.since}});
    return list;
  }

 private:
  struct Missing {
    std::string message;
    double since = 0;  // seconds of the clock
  };

  mutable std::mutex mutex_;
  std::map<std::string, Missing> missing_;  // guarded by mutex_; by address
};

}  // namespace ps

#endif  // PS_JOB_MISSING_SERVERS_H_
