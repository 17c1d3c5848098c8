// TrainerStates: the state that trainers have told a shard for its checkpoints.  Used by Shard and its
// StepClock.
#ifndef PS_PS_SERVER_TRAINER_STATES_H_
#define PS_PS_SERVER_TRAINER_STATES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.h"
#include "net/frame.h"
#include "ps/server/pending_push.h"
#include "ps/server/run_state.h"
#include "ps/wire/trainer_state_chunks.h"
#include "store/placement.h"

namespace ps {

// State that only the trainer has, as it told it last, or as in the checkpoint with which the run began.  It
// is unknown once the trainer has done a batch without telling it.
struct StoredTrainerState {
  TrainerStateChunks chunks;
  bool knows_chunks = true;
  uint64_t sender = 0;       // generation of the process that told them; 0: they are of a checkpoint
  bool has_rows = false;     // it trains rows itself, which may be ahead of the shard's
  uint64_t last_return = 0;  // number of the last message in which its process has returned rows
};

// One owner thread.
class TrainerStates {
 public:
  // Begins another run, with so many trainers.
  void restart(size_t num_trainers) { trainers_ = std::vector<StoredTrainerState>(num_trainers); }

  StoredTrainerState& of(int rank) { return trainers_[static_cast<size_t>(rank)]; }
  const StoredTrainerState& of(int rank) const { return trainers_[static_cast<size_t>(rank)]; }

  // Keeps the chunks of a push in place of the trainer's earlier chunks, which are not valid any more once it
  // has pushed another batch.  Returns true if there were earlier chunks.
  bool store(PendingPush& push);

  // From now on the trainer has rows, until a push before which it has returned all of them: one with which a
  // checkpoint begins, or its last of a pass.  `number` is that of the message in which it has returned some.
  void give_rows(int rank, uint64_t number) {
    of(rank).has_rows = true;
    of(rank).last_return = number;
  }

  uint64_t chunk_bytes() const;  // of all trainers

  // Returns all chunks, as states of a checkpoint.
  SharedStates chunk_states(const ShardPlace& place) const;

  // Returns the answer to a trainer that asks for a chunk.
  Payload chunk(int rank, uint64_t batches, uint32_t number) const;

  // Reads the chunks that a checkpoint has of so many trainers.  The run that begins next goes on from them
  // with resume.
  void restore(const CheckpointReader& reader, size_t num_trainers, const ShardPlace& place);
  void resume();
  void forget_restored() { restored_.clear(); }

 private:
  void deal(size_t former_rank, const std::shared_ptr<const std::string>& chunk);

  std::vector<StoredTrainerState> trainers_;  // by rank

  // Chunks of a checkpoint, by the ranks that it has, until a run begins with them.
  std::vector<TrainerStateChunks> restored_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_TRAINER_STATES_H_
