// TrainerSteps: how far one trainer has come, and its pushes that are not applied yet.  Kept by StepClock.
#ifndef PS_PS_SERVER_TRAINER_STEPS_H_
#define PS_PS_SERVER_TRAINER_STEPS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ps/server/pending_push.h"
#include "ps/server/reply.h"
#include "ps/wire/protocol.h"

namespace ps {

struct TrainerSteps {
  TrainerSteps() = default;
  TrainerSteps(TrainerSteps&&) = default;

  int rank = 0;
  uint64_t next_step = 0;                  // the first step that was not applied
  uint64_t batches = 0, pass_batches = 0;  // applied batches: in the run, in this pass
  std::map<uint64_t, PendingPush> pushes;  // by step
  std::deque<Done> done;                   // answers for the steps before next_step, the last one last
  // The number of its steps before the last checkpoint that began at the end of a pass.
  uint64_t end_checkpoint = 0;

  // Only in asynchronous runs.
  uint64_t pulled_at = 0;      // steps that the shard had applied at the trainer's last pull
  bool has_marker = false;     // its barrier marker has come: its later pushes follow the next checkpoint
  uint64_t marker_at = 0;      // number of its steps before that checkpoint, as it was told last
  uint64_t marker_number = 0;  // number of that checkpoint, as it was told last
  // Its batches that the clock counts; none: it took no part in the last checkpoint, since it was lost.
  std::optional<uint64_t> counted = 0;

  PendingPush* next_push();                   // null unless it is complete
  PendingPush* complete_push(uint64_t step);  // the push of any step, likewise
  bool has_complete_push(uint64_t step) const;
  uint64_t pushed_steps() const;  // complete pushes count, so that a trainer that others wait for is behind

  // Returns true if the next push, which must be complete, is the barrier marker of a checkpoint that begins
  // within a pass.  A marker that was planned before a pass ended, up to `lead` steps ahead, does not count
  // once the end of that pass has had a checkpoint.
  bool marks_checkpoint(uint64_t lead);

  // Returns the push to which a message belongs, and begins it with its first message.  Throws kData if the
  // message belongs to none.
  PendingPush& pending_push(const PushRequest& request);

  // Answers for a step that was applied already, and returns true; else returns false.  Throws kData if the
  // step is long past.
  bool answer_repeated(uint64_t step, ReplyPtr& reply) const;
};

// Returns true if some trainer's batch was applied in this pass.
bool pass_begun(std::span<const TrainerSteps> trainers);

// To be asked when each trainer of a step has pushed that it has no data left.  Returns true if the pass
// ends.  Returns false if all of them ask for the data that lost trainers have left, which are then dealt.
bool closes_pass(std::span<TrainerSteps* const> pushers);

// ---- functions of all pushes of these trainers that are not applied

uint64_t pending_chunk_bytes(
    std::span<const TrainerSteps> trainers);                 // bytes of the trainer state chunks in them
size_t num_waiting(std::span<const TrainerSteps> trainers);  // requests without an answer
bool holds_pushes(std::span<const TrainerSteps> trainers);
void forget_unwanted(std::span<TrainerSteps> trainers);
void release_replies(std::span<TrainerSteps> trainers, std::vector<ReplyPtr>& out);  // and forgets all pushes

// Sends the trainer the squares of the step, with the answer to its push.
void answer_with_squares(PendingPush& push, const std::vector<ExactSquares>& squares, double learning_rate);

}  // namespace ps

#endif  // PS_PS_SERVER_TRAINER_STEPS_H_
