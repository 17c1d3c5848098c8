// The messages with which a trainer asks the servers for a checkpoint and copies its files.  Used by
// RemoteStore, and by the shards that answer.  ps-wire(5).
#ifndef PS_PS_WIRE_CHECKPOINT_MESSAGES_H_
#define PS_PS_WIRE_CHECKPOINT_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/manifest.h"
#include "store/run_control.h"

namespace ps {

// Pass -1 asks for a checkpoint as soon as a step allows; another number asks for the one at the end of that pass.
std::string encode_checkpoint_request(int64_t pass);
int64_t decode_checkpoint_request(std::span<const char> body);  // throws kData

std::string encode_asked_checkpoint(const AskedCheckpoint& answer);
AskedCheckpoint decode_asked_checkpoint(std::span<const char> body);  // throws kData

// A server's answer to a request for its shard of a checkpoint: the manifest of the shard's files and tables,
// or the reason for which there is none.
struct CheckpointShardAnswer {
  std::optional<Manifest> manifest;
  std::string why;
};

// A request for some bytes of one of these files.
struct CheckpointShardSlice {
  uint64_t step = 0, offset = 0;
  uint32_t size = 0;
  std::string file;
};

inline constexpr uint32_t kShardSliceBytes = 256 << 10;

std::string encode_shard_request(uint64_t step);
std::string encode_shard_answer(const CheckpointShardAnswer& answer);
std::string encode_shard_slice(const CheckpointShardSlice& slice);
std::string encode_shard_bytes(bool there, std::string_view bytes);

// Throw kData.
uint64_t decode_shard_request(std::span<const char> body);
CheckpointShardAnswer decode_shard_answer(std::span<const char> body);
CheckpointShardSlice decode_shard_slice(std::span<const char> body);
std::optional<std::string_view> decode_shard_bytes(
    std::span<const char> body);  // returns nothing when the checkpoint is gone

}  // namespace ps

#endif  // PS_PS_WIRE_CHECKPOINT_MESSAGES_H_
