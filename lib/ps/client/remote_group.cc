#include "ps/client/remote_group.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ps/wire/gather.h"
#include "ps/wire/protocol.h"

namespace ps {

namespace {

// Returns the message with bytes [first, first + count) of the text that this trainer gives.  The bytes are not
// copied; the message shares the text.
Payload slice_of(const std::shared_ptr<const std::string>& given, uint64_t number, uint64_t first,
                 uint64_t count) {
  struct Slice {
    std::string head;
    std::shared_ptr<const std::string> given;
  };
  const uint64_t rest = given->size() - first - count;
  auto slice = std::make_shared<const Slice>(
      Slice{encode_gather_head({.number = number, .bytes = {}, .first = first, .rest = rest}), given});
  Payload payload;
  payload.parts = {{slice->head.data(), slice->head.size()}, {given->data() + first, count}};
  payload.keep = std::move(slice);
  return payload;
}

}  // namespace

std::vector<std::string> RemoteGroup::gather(std::string bytes) {
  return gather(kGathered, std::move(bytes));
}

void RemoteGroup::gather_at_end() {
  gather(kGatheredAtEnd, "");
}

// Sends all slices at once, and returns the answer to the last one, which the shard sends when all trainers
// have given their texts.  The answer may come after an exception has ended this wait, so that it is in shared
// memory.
std::string RemoteGroup::give(uint64_t number, std::string bytes) {
  if (bytes.size() > kMostGivenBytes) {
    fail(Code::kUsage, "this trainer has ", bytes.size(),
         " bytes for the others at the end of a pass, expected up to ", kMostGivenBytes,
         ": fewer of the evaluators that keep scores are to be used");
  }
  const auto given = std::make_shared<const std::string>(std::move(bytes));
  auto answer = std::make_shared<std::optional<Frame>>();
  for (uint64_t first = 0, count = 0; first < given->size(); first += count) {
    count = std::min<uint64_t>(given->size() - first, kGatherSliceBytes);
    const uint64_t rest = given->size() - first - count;
    links_.request(0, Message::kGather, slice_of(given, number, first, count), [answer, rest](Frame frame) {
      if (rest == 0) answer->emplace(std::move(frame));
    });
  }
  links_.wait_for_others([&answer] { return answer->has_value(); });
  return std::string((*answer)->body.data(), (*answer)->body.size());
}

// Appends the bytes of the gathered texts that the first answer did not contain, slice by slice.  The list
// of sizes at the beginning tells the length of the whole.  The shard counts offsets from the end of that
// list.  An empty slice would repeat the loop for ever, and is an error.
void RemoteGroup::fetch_rest(uint64_t number, std::string& gathered) {
  const GatheredLength length = gathered_length(gathered);
  if (length.num != static_cast<size_t>(size_)) fail(Code::kData, "gather: ", length.num, " answers");
  while (gathered.size() < length.all) {
    const GatheredRequest request{number, gathered.size() - length.sizes};
    const Frame slice = links_.call(0, Message::kGatheredSlice, Payload(encode_gathered_request(request)));
    if (slice.body.size() == 0) fail(Code::kData, "gather: a slice without bytes");
    gathered.append(slice.body.data(), slice.body.size());
  }
}

// Each text begins with a marker, so that an empty text means that its trainer is not there.  The first trainer
// that is there becomes the leader.
std::vector<std::string> RemoteGroup::gather(char marker, std::string bytes) {
  const uint64_t number = num_gathered_++;
  std::string gathered = give(number, std::string(1, marker).append(bytes));
  fetch_rest(number, gathered);
  std::vector<std::string> all = decode_gathered(gathered);
  auto here = [](const std::string& given) { return !given.empty(); };
  const auto leader = std::ranges::find_if(all, here);
  if (leader == all.end()) fail(Code::kData, "gather: no trainer has given anything");
  leader_ = static_cast<int>(leader - all.begin());
  for (std::string& given : all) given.erase(0, 1);
  return all;
}

}  // namespace ps
