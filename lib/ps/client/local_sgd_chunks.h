// The state of a trainer in local SGD, in the chunks in which servers' checkpoints store it.  Used by
// LocalSgdCopies.
//
//   chunk    := kind:u8 schedule | kind:u8 steps | kind:u8 section*          kind: StateChunkKind
//   schedule := samples:i64 steps:i64 learning_rate:f64
//   steps    := offset:u64 total:u64 bytes[...]     some of the bytes of `known`
//   known    := pass:i64 pass_batches:i64 batches:i64 rows:u64 steps:i64 optimizers
//               rows: of all chunks; optimizers: those of store/optimizer_states.h
//   section  := parameter:u32 count:u32 row[count]
//   row      := key:u64 flags:u8 base:f32[cols]? stamp:u32? f32[cols (1 + state arrays)]
//               flags: 1 there is a base, what the servers had; 2 the difference to it is on its way
//
// Rows are as they lie in the trainer's tables: weights, then state; and a stamp where rows have one.
#ifndef PS_PS_CLIENT_LOCAL_SGD_CHUNKS_H_
#define PS_PS_CLIENT_LOCAL_SGD_CHUNKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ps/client/local_sgd_copies.h"

namespace ps {

inline constexpr uint8_t kLocalSgdBase = 1, kLocalSgdSent = 2;  // on disk: never renumber

// One owner thread.  The copies outlive this, which takes only a few bytes of memory for each chunk.
class LocalSgdChunks final : public StateChunkSource {
 public:
  LocalSgdChunks(const LocalSgdCopies& copies, uint64_t most_bytes);

  size_t size() const override;
  std::string encode(size_t chunk) const override;

 private:
  // A range of rows of one parameter, by their positions among the rows that exist.
  struct Run {
    uint32_t parameter;
    uint64_t first, count;
  };

  void add_rows(uint32_t parameter, uint64_t rows);
  size_t num_known() const;
  std::string encode_steps(size_t part) const;
  void encode_rows(const Run& run, std::string& out) const;

  const LocalSgdCopies& copies_;
  const uint64_t most_bytes_;
  std::string known_;
  std::vector<Run> runs_;
  std::vector<size_t> begins_;  // by chunk of rows: its first run
  uint64_t last_bytes_ = 0;     // upper bound of the bytes of the last chunk
};

}  // namespace ps

#endif  // PS_PS_CLIENT_LOCAL_SGD_CHUNKS_H_
