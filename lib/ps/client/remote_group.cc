#include "ps/client/remote_group.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_messages.h"

namespace ps {

std::vector<std::string> RemoteGroup::gather(std::string bytes) {
  return gather(kGathered, std::move(bytes));
}

void RemoteGroup::gather_at_end() {
  gather(kGatheredAtEnd, "");
}

// The answer may come when nobody waits any more.  Each gift begins with a marker, so that the empty ones are
// those of trainers that are not there.
std::vector<std::string> RemoteGroup::gather(char marker, std::string bytes) {
  std::string body;
  put(body, num_gathered_++);
  body += marker;
  body += bytes;
  auto answer = std::make_shared<std::optional<Frame>>();
  links_.request(0, Message::kGather, Payload(std::move(body)),
                 [answer](Frame frame) { answer->emplace(std::move(frame)); });
  links_.wait_for_others([&answer] { return answer->has_value(); });
  std::vector<std::string> all = decode_gathered((*answer)->body.bytes());
  if (all.size() != static_cast<size_t>(size_)) fail(Code::kData, "gather: ", all.size(), " answers");
  auto here = [](const std::string& given) { return !given.empty(); };
  const auto leader = std::ranges::find_if(all, here);
  if (leader == all.end()) fail(Code::kData, "gather: no trainer has given anything");
  leader_ = static_cast<int>(leader - all.begin());
  for (std::string& given : all) given.erase(0, 1);
  return all;
}

}  // namespace ps
