// What a trainer alone has, and the servers' checkpoints keep: in pieces, each of which says what it is, so
// that any shard may keep any of them.  Used by RemoteStore and by shards, which look at no more than the
// first byte.
#ifndef PS_PS_WIRE_TRAINER_STATE_CHUNKS_H_
#define PS_PS_WIRE_TRAINER_STATE_CHUNKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// The first byte of a piece.  On disk: never renumber.
enum class StateChunkKind : uint8_t {
  kErrors = 1,    // what rounding took from gradients: ResidualChunks
  kSchedule = 2,  // of a copy of the trainer's own: how far its schedule has come; LocalSgdChunks
  kSteps = 3,     // its progress and its optimizers
  kRows = 4,      // rows
};

// As a shard holds them, and its checkpoints while they are written.
using TrainerStateChunks = std::vector<std::shared_ptr<const std::string>>;

// Whether trainers of another number get the piece too, all of them.
inline bool is_for_all(std::string_view piece) {
  return !piece.empty() && static_cast<StateChunkKind>(piece[0]) == StateChunkKind::kSchedule;
}

// What there is to tell.  The pieces are made one by one, of what then is there: nothing may change it until
// the last has been made.
class StateChunkSource {
 public:
  virtual ~StateChunkSource() = default;
  virtual size_t size() const = 0;
  virtual std::string encode(size_t piece) const = 0;
};

// What a trainer has of its own beside what its RemoteStore has, as LocalSgdCopies.
class TrainerState {
 public:
  virtual ~TrainerState() = default;

  // In pieces of about so many bytes.
  virtual std::unique_ptr<StateChunkSource> pieces(uint64_t most_bytes) const = 0;

  // Takes up what was told, of whatever kinds there are, in any order; or what all trainers told, where their
  // number was another, as far as that is for all.  `batches`: that servers know of the trainer.  Throw
  // kCorrupt.
  virtual void take(std::string_view piece) = 0;
  virtual void end_taking(uint64_t batches) = 0;

  // Whether who goes on without it does not do what it would have done.
  virtual bool matters() const = 0;
};

}  // namespace ps

#endif  // PS_PS_WIRE_TRAINER_STATE_CHUNKS_H_
