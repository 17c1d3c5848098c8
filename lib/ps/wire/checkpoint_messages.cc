#include "ps/wire/checkpoint_messages.h"

#include "base/bytes.h"
#include "base/error.h"
#include "net/transport.h"

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

std::string encode_shard_request(uint64_t step) {
  std::string out;
  put(out, step);
  return out;
}

uint64_t decode_shard_request(std::span<const char> body) {
  if (body.size() != sizeof(uint64_t)) fail(Code::kData, "checkpoint shard: the body is not 8 bytes");
  return ByteReader(text_of(body)).get<uint64_t>();
}

std::string encode_shard_answer(const CheckpointShardAnswer& answer) {
  std::string out;
  put(out, static_cast<uint8_t>(answer.manifest.has_value()));
  return out + (answer.manifest ? encode_manifest(*answer.manifest) : answer.why);
}

// The text behind the first byte is the manifest, or the reason why there is none.  A damaged manifest is
// kData here, since it came in a message and not from a disk.
CheckpointShardAnswer decode_shard_answer(std::span<const char> body) {
  ByteReader in(text_of(body));
  const bool there = in.get<uint8_t>() != 0;
  if (!in.ok()) fail(Code::kData, "checkpoint shard: an empty answer");
  const std::string_view text = in.get_bytes(in.remaining());
  if (!there) return {std::nullopt, std::string(text)};
  try {
    return {decode_manifest(text, "checkpoint shard"), ""};
  } catch (const Error& error) {
    throw Error(Code::kData, error.message());
  }
}

std::string encode_shard_slice(const CheckpointShardSlice& slice) {
  std::string out;
  put(out, slice.step);
  put(out, slice.offset);
  put(out, slice.size);
  return out + slice.file;
}

CheckpointShardSlice decode_shard_slice(std::span<const char> body) {
  ByteReader in(text_of(body));
  CheckpointShardSlice slice;
  slice.step = in.get<uint64_t>();
  slice.offset = in.get<uint64_t>();
  slice.size = in.get<uint32_t>();
  if (!in.ok()) fail(Code::kData, "slice of a checkpoint shard: the body is cut short");
  slice.file = in.get_bytes(in.remaining());
  return slice;
}

std::string encode_shard_bytes(bool there, std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 1);
  put(out, static_cast<uint8_t>(there));
  return out.append(bytes);
}

std::optional<std::string_view> decode_shard_bytes(std::span<const char> body) {
  if (body.empty()) fail(Code::kData, "slice of a checkpoint shard: an empty answer");
  if (body[0] == 0) return std::nullopt;
  return text_of(body).substr(1);
}

}  // namespace ps
