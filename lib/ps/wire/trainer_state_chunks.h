// Trainer state chunks: state that a trainer alone has, and the servers' checkpoints keep.  Each chunk says
// what it is, so that any shard may keep any of them.  Used by TrainerStateLink and by shards, which look at no
// more than the first byte.
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
  kErrors = 1,    // what rounding took from gradients: ResidualChunks
  kSchedule = 2,  // of a copy of the trainer's own: how far its schedule has come; LocalSgdChunks
  kSteps = 3,     // its progress and its optimizers
  kRows = 4,      // rows
  kFigures = 5,   // the trainer's own text, how far its pass has come and its sums: FiguresChunk
  kCodecs = 6,    // of the codecs of its gradients, beside residuals: CodecChunks
};

// As a shard holds them, and its checkpoints while they are written.
using TrainerStateChunks = std::vector<std::shared_ptr<const std::string>>;

inline bool is_of_kind(std::string_view chunk, StateChunkKind kind) {
  return !chunk.empty() && static_cast<StateChunkKind>(chunk[0]) == kind;
}

// figures := 5:u8 rank:u32 text                       (ps-checkpoint(5))
struct FiguresChunk {
  uint32_t rank = 0;  // of the trainer that told it
  std::string text;
};
std::string encode_figures(const FiguresChunk& figures);
FiguresChunk decode_figures(std::string_view chunk);  // throws kCorrupt

// The chunks that there are to tell.  They are made one by one, of the state at that moment: nothing may
// change it until the last has been made.
class StateChunkSource {
 public:
  virtual ~StateChunkSource() = default;
  virtual size_t size() const = 0;
  virtual std::string encode(size_t chunk) const = 0;
};

// State of a trainer beside that of its RemoteStore, as LocalSgdCopies.
class TrainerState {
 public:
  virtual ~TrainerState() = default;

  // In chunks of about so many bytes.
  virtual std::unique_ptr<StateChunkSource> chunks(uint64_t most_bytes) const = 0;

  // Resumes from the chunks that the trainer told, of whatever kinds there are, in any order; or, where the
  // number of trainers was another, from those of all trainers that are for all.  `batches`: that servers
  // know of the trainer.  Both throw kCorrupt.
  virtual void take(std::string_view chunk) = 0;
  virtual void end_taking(uint64_t batches) = 0;

  // Returns true when a process that goes on without this state would train otherwise than one with it.
  virtual bool matters() const = 0;
};

}  // namespace ps

#endif  // PS_PS_WIRE_TRAINER_STATE_CHUNKS_H_
