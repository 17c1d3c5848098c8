// TrainerStates: what trainers have told a shard of themselves for its checkpoints.  Used by Shard and its
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

struct StoredTrainerState {
  std::string state;           // as the trainer told last; empty: it has not
  uint64_t state_batches = 0;  // applied of the trainer then
  HeldBytes state_held;

  // State that the trainer alone has, as it told last.  Not known once it has done a batch without telling.
  TrainerStateChunks chunks;
  bool knows_chunks = true;

  // From the checkpoint with which the run began: the states of the ranks whose place this one takes, until it
  // has done a batch.
  std::vector<std::string> former_states;
};

// One owner thread.
class TrainerStates {
 public:
  // Another run begins, with so many trainers.
  void restart(size_t num_trainers) { trainers_ = std::vector<StoredTrainerState>(num_trainers); }

  StoredTrainerState& of(int rank) { return trainers_[static_cast<size_t>(rank)]; }
  const StoredTrainerState& of(int rank) const { return trainers_[static_cast<size_t>(rank)]; }

  // Takes the state that a push brings of its trainer, which then has done so many batches.  A batch makes
  // earlier chunks untrue, unless the trainer tells others.  Returns true when it had some.
  bool take(PendingPush& push, uint64_t batches);

  uint64_t chunk_bytes() const;  // of all trainers

  // Give a checkpoint of the job the state of a trainer that has done so many batches, and all state chunks.
  void add_state(int rank, uint64_t batches, std::map<std::string, std::string>& states) const;
  SharedStates chunk_states(const ShardPlace& place) const;

  // The answers to trainers that ask for them.
  Payload former_states(int rank) const;
  Payload chunk(int rank, uint64_t batches, uint32_t number) const;

  // Reads what a checkpoint has of so many trainers; the run that begins next goes on from it with resume,
  // where `run` is as dealt to its own trainers.
  void restore(const CheckpointReader& reader, size_t num_trainers, const ShardPlace& place);
  void resume(const RunState& run);
  void forget_restored();

 private:
  void restore_chunks(const CheckpointReader& reader, const ShardPlace& place);
  void give_to_all();

  std::vector<StoredTrainerState> trainers_;  // by rank

  // As a checkpoint has them, by the ranks that there were, until a run begins with it.
  std::vector<std::string> restored_states_;
  std::vector<TrainerStateChunks> restored_chunks_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_TRAINER_STATES_H_
