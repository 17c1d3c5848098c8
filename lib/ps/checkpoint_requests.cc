#include "ps/checkpoint_requests.h"

#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

std::string encode_checkpoint_request(int64_t pass) {
  std::string out;
  put(out, pass);
  return out;
}

int64_t decode_checkpoint_request(std::span<const char> body) {
  if (body.size() != sizeof(int64_t)) fail(Code::kData, "checkpoint: the body is not 8 bytes");
  return ByteReader({body.data(), body.size()}).get<int64_t>();
}

std::string encode_asked_checkpoint(const AskedCheckpoint& answer) {
  std::string out;
  put(out, static_cast<uint8_t>(answer.counts));
  put(out, answer.run);
  return out + answer.text;
}

AskedCheckpoint decode_asked_checkpoint(std::span<const char> body) {
  ByteReader in({body.data(), body.size()});
  AskedCheckpoint answer;
  answer.counts = in.get<uint8_t>() != 0;
  answer.run = in.get<uint64_t>();
  if (!in.ok()) fail(Code::kData, "checkpoint: the answer is cut short");
  answer.text = in.get_bytes(in.remaining());
  return answer;
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
