#include "ps/checkpoint_requests.h"

#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

std::string encode_asked_checkpoint(const AskedCheckpoint& answer) {
  std::string out;
  put(out, static_cast<uint8_t>(answer.counts));
  return out + answer.text;
}

AskedCheckpoint decode_asked_checkpoint(std::span<const char> body) {
  ByteReader in({body.data(), body.size()});
  const bool counts = in.get<uint8_t>() != 0;
  if (!in.ok()) fail(Code::kData, "checkpoint: an empty answer");
  return {counts, std::string(in.get_bytes(in.remaining()))};
}

void CheckpointRequests::begin() {
  asked_ = false;
  std::move(waiting_.begin(), waiting_.end(), std::back_inserter(begun_));
  waiting_.clear();
}

void CheckpointRequests::end(const AskedCheckpoint& answer) {
  for (ReplyPtr& reply : std::exchange(begun_, {})) reply->answer(Payload(encode_asked_checkpoint(answer)));
}

void CheckpointRequests::refuse(const Error& error) {
  begin();
  for (ReplyPtr& reply : std::exchange(begun_, {})) reply->fail(error);
}

}  // namespace ps
