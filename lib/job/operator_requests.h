// OperatorRequests: what operators have asked a program for over HTTP, until it is taken.  StatusThread adds to them;
// ps-train and ps-serve take them where they also look for signals, and do the same as for those.
#ifndef PS_JOB_OPERATOR_REQUESTS_H_
#define PS_JOB_OPERATOR_REQUESTS_H_

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"

namespace ps {

enum class OperatorRequest : size_t { kCheckpoint, kEnd, kShrink };

// "checkpoint", "end" or "shrink".
std::string_view operator_request_name(OperatorRequest request);

// Returns the request for which a path stands, "/checkpoint"; nullopt: none.
std::optional<OperatorRequest> parse_operator_request(std::string_view path);

// Any thread may use it.
class OperatorRequests {
 public:
  explicit OperatorRequests(Log& log) : log_(log) {}

  // Takes a request down, and logs who made it, unless one that was made before was not taken yet.
  void add(OperatorRequest request, const std::string& peer);

  // Returns true if there was such a request since the last call.
  bool take(OperatorRequest request) { return asked(request).exchange(false); }

  // Returns true once an operator has asked for the end.
  bool ends() { return asked(OperatorRequest::kEnd); }

 private:
  std::atomic<bool>& asked(OperatorRequest request) { return asked_[static_cast<size_t>(request)]; }

  Log& log_;
  std::array<std::atomic<bool>, 3> asked_{};  // by OperatorRequest
};

}  // namespace ps

#endif  // PS_JOB_OPERATOR_REQUESTS_H_
