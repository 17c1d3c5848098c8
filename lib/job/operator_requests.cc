#include "job/operator_requests.h"

namespace ps {

namespace {

struct RequestWords {
  std::string_view name, asked;
};

// Indexed by OperatorRequest.
constexpr std::array kRequestWords = {
    RequestWords{"checkpoint", "a checkpoint"},
    RequestWords{"end", "the end"},
    RequestWords{"shrink", "tables to be shrunk"},
};

}  // namespace

std::string_view operator_request_name(OperatorRequest request) {
  return kRequestWords[static_cast<size_t>(request)].name;
}

std::optional<OperatorRequest> parse_operator_request(std::string_view path) {
  for (size_t index = 0; index < kRequestWords.size(); ++index) {
    if (path.starts_with('/') && path.substr(1) == kRequestWords[index].name)
      return static_cast<OperatorRequest>(index);
  }
  return std::nullopt;
}

void OperatorRequests::add(OperatorRequest request, const std::string& peer) {
  if (asked(request).exchange(true)) return;
  log_.info("An operator at ", peer, " asks for ", kRequestWords[static_cast<size_t>(request)].asked);
}

}  // namespace ps
