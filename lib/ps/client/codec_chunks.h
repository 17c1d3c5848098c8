// The state that the codecs of a trainer's gradients have beside residuals, in the chunks in which servers'
// checkpoints store it.  A chunk has a part of the state of one codec.  Used by Residuals.
#ifndef PS_PS_CLIENT_CODEC_CHUNKS_H_
#define PS_PS_CLIENT_CODEC_CHUNKS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ps/wire/push_codecs.h"
#include "ps/wire/trainer_state_chunks.h"

namespace ps {

// Encodes the states of all codecs, in chunks of at most the given number of bytes.  A chunk has the state at
// the time at which it is encoded; sizes of states never change.  One owner thread.  The codecs outlive this.
//
// chunk := kind:u8 parameter:u32 at:u64 size:u64 bytes[...]     kind: StateChunkKind::kCodecs; bytes from `at` on of `size`
class CodecChunks final : public StateChunkSource {
 public:
  CodecChunks(const PushCodecs& codecs, size_t num_parameters, uint64_t most_bytes);

  size_t size() const override { return begins_.size(); }
  std::string encode(size_t chunk) const override;

 private:
  struct Begin {
    uint32_t parameter;
    size_t at;  // offset in the codec's state
  };

  const PushCodecs& codecs_;
  const uint64_t most_bytes_;
  std::vector<Begin> begins_;  // where each chunk begins
};

// Joins states from their chunks, which come in any order, and loads each state that is complete.  One owner
// thread.
class CodecStates {
 public:
  // Adds a chunk, and loads the state of a codec when its last chunk has come.  `codecs` are new ones, of the same job.
  // Throws kCorrupt.
  void restore(std::string_view chunk, PushCodecs& codecs);

 private:
  struct State {
    std::string bytes;
    uint64_t taken = 0;  // bytes that have come
  };
  std::map<uint32_t, State> states_;  // by parameter
};

}  // namespace ps

#endif  // PS_PS_CLIENT_CODEC_CHUNKS_H_
