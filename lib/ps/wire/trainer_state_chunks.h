// Trainer state chunks: state that only one trainer has, and that the servers store in their checkpoints.  The first byte of
// a chunk is its kind, so that any shard may store any chunk.  Used by TrainerStateLink, and by shards, which look at the
// first byte only.
#ifndef PS_PS_WIRE_TRAINER_STATE_CHUNKS_H_
#define PS_PS_WIRE_TRAINER_STATE_CHUNKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// The first byte of a chunk.  On disk: never renumber.
enum class StateChunkKind : uint8_t {
  kErrors = 1,    // residuals: ResidualChunks
  kSchedule = 2,  // local SGD: the position of the trainer's schedule; LocalSgdChunks
  kSteps = 3,     // local SGD: the position in the data, and the optimizers
  kRows = 4,      // local SGD: rows
  kFigures = 5,   // the trainer's figures, as a text that only the trainer reads: FiguresChunk
  kCodecs = 6,    // state of the codecs of its gradients, beside residuals: CodecChunks
};

// The chunks of one trainer.  A shard shares them with a checkpoint that is being written.
using TrainerStateChunks = std::vector<std::shared_ptr<const std::string>>;

inline bool is_of_kind(std::string_view chunk, StateChunkKind kind) {
  return !chunk.empty() && static_cast<StateChunkKind>(chunk[0]) == kind;
}

// figures := 5:u8 rank:u32 text                       (ps-checkpoint(5))
struct FiguresChunk {
  uint32_t rank = 0;  // rank of the trainer that has sent it
  std::string text;
};
std::string encode_figures(const FiguresChunk& figures);
FiguresChunk decode_figures(std::string_view chunk);  // throws kCorrupt

// Encodes a part of a trainer's state as chunks, one after the other.  One owner thread.  The state must not
// change until the last chunk has been encoded.
class StateChunkSource {
 public:
  virtual ~StateChunkSource() = default;
  virtual size_t size() const = 0;
  virtual std::string encode(size_t chunk) const = 0;
};

// State of a trainer that its RemoteStore sends and restores for it.  LocalSgdCopies implements it.
class TrainerState {
 public:
  virtual ~TrainerState() = default;

  // Returns a source of chunks of about `most_bytes` each.
  virtual std::unique_ptr<StateChunkSource> chunks(uint64_t most_bytes) const = 0;

  // Resumes from chunks: restore is called for each of them, in any order, and end_restoring after the last one.  The chunks
  // are those that this rank has sent; where the number of trainers has changed, they are the chunks of all ranks whose
  // kind is meant for every trainer.  `batches` is the number of this trainer's batches that the servers have counted.
  // Both throw kCorrupt.
  virtual void restore(std::string_view chunk) = 0;
  virtual void end_restoring(uint64_t batches) = 0;

  // Returns true if a process without this state would train differently from one with it.
  virtual bool matters() const = 0;
};

}  // namespace ps

#endif  // PS_PS_WIRE_TRAINER_STATE_CHUNKS_H_
