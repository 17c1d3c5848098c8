// TrainerSteps: how far one trainer has come, with its pushes that are not applied yet.  Kept by StepClock.
#ifndef PS_PS_SERVER_TRAINER_STEPS_H_
#define PS_PS_SERVER_TRAINER_STEPS_H_

#include <cstdint>
#include <deque>
#include <map>
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
  uint64_t next_step = 0;                  // the first that was not applied
  uint64_t batches = 0, pass_batches = 0;  // applied: in the run, in this pass
  std::map<uint64_t, PendingPush> pushes;  // by step
  std::deque<Done> done;                   // answers for the steps before next_step, the last one last
  uint64_t end_checkpoint = 0;             // its steps before the last checkpoint that began at a pass's end

  // Asynchronous alone.
  uint64_t pulled_at = 0;   // steps that the shard had applied when the trainer pulled last
  bool has_marker = false;  // its barrier marker has come: its later pushes follow the next checkpoint
  uint64_t marker_at = 0;   // its steps before that checkpoint, as it was told last

  PendingPush* next_push();                   // when it is complete; else null
  PendingPush* complete_push(uint64_t step);  // the same, of any step
  bool has_complete_push(uint64_t step) const;
  uint64_t pushed_steps() const;  // so that the trainer that others wait for is behind

  // The next push, which is complete, is the barrier marker of a checkpoint that is to begin in the midst of a pass.  A
  // marker that was planned before a pass ended, up to `lead` steps ahead, is none once that pass's end has had a checkpoint.
  bool marks_checkpoint(uint64_t lead);

  // The push to which a message belongs, begun if it is the first.  Throws kData when it belongs to none.
  PendingPush& pending_push(const PushRequest& request);

  // Answers for a step that was applied already, if it was; throws kData when that is long past.
  bool answer_repeated(uint64_t step, ReplyPtr& reply) const;
};

// Some trainer's batch was applied in this pass.
bool pass_begun(std::span<const TrainerSteps> trainers);

// No trainer of a step has data left, each of them having pushed that: the pass ends, unless all of them ask for what lost
// trainers have left, which is then dealt.
bool closes_pass(std::span<TrainerSteps* const> pushers);

// ---- all pushes of these trainers that are not applied

uint64_t pending_chunk_bytes(std::span<const TrainerSteps> trainers);  // of trainer state chunks in them
size_t num_waiting(std::span<const TrainerSteps> trainers);            // requests without an answer
bool holds_pushes(std::span<const TrainerSteps> trainers);
void forget_unwanted(std::span<TrainerSteps> trainers);
void release_replies(std::span<TrainerSteps> trainers, std::vector<ReplyPtr>& out);  // and forgets all pushes

// Tells the trainer the squares of the step, with the answer to its push.
void answer_measured(PendingPush& push, const std::vector<ExactSquares>& squares, double learning_rate);

}  // namespace ps

#endif  // PS_PS_SERVER_TRAINER_STEPS_H_
