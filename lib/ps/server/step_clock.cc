#include "ps/server/step_clock.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

void StepClock::restart(size_t num_trainers) {
  trainers_.clear();
  trainers_.resize(num_trainers);
  for (size_t rank = 0; rank < num_trainers; ++rank) trainers_[rank].rank = static_cast<int>(rank);
  clock_ = pass_ = 0;
  rest_.begin_pass(num_trainers);
}

// All trainers begin with the step of the clock, and the clock counts all of their batches.  Without a
// dealing in the run state, every rank has its own share.
void StepClock::resume_from(const RunState& run) {
  clock_ = run.clock;
  pass_ = run.pass;
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    trainers_[rank].next_step = clock_;
    trainers_[rank].batches = run.trainers[rank].batches;
    trainers_[rank].counted = trainers_[rank].batches;
    trainers_[rank].pass_batches = run.trainers[rank].pass_batches;
  }
  rest_.begin_pass(trainers_.size());
  if (run.rest.dealings() > 0) rest_ = run.rest;
}

RunState StepClock::run_state() const {
  RunState run{clock_, pass_, {}};
  for (const TrainerSteps& trainer : trainers_)
    run.trainers.push_back({trainer.batches, trainer.pass_batches});
  run.rest = rest_;
  return run;
}

std::optional<uint64_t> StepClock::pass_just_ended() const {
  return pass_begun(trainers_) || pass_ == 0 ? std::nullopt : std::optional(pass_ - 1);
}

// A step without data is not measured: it waits until all shards hold it, while the others wait for sums of
// squares.
PendingPush& StepClock::waiting_push(int rank, const CommitRequest& request) {
  TrainerSteps& sender = trainer(rank);
  PendingPush* const push = sender.complete_push(request.step);
  const bool is_next = request.step == sender.next_step;
  const bool may_hold = holds_steps() || (needs_word_of_all() && push != nullptr && push->ended);
  const bool measured = push != nullptr && !push->squares.empty();
  const bool expected = measured ? is_next && request.squares.size() == context_.applier.num_parameters()
                                 : push != nullptr && request.squares.empty() && may_hold;
  if (!expected) fail(Code::kData, "apply: step ", request.step, " is not waiting for it");
  return *push;
}

TrainerPosition StepClock::position_of(int rank) const {
  const TrainerSteps& steps = trainer(rank);
  auto is_batch = [](const auto& push) { return push.second.complete() && !push.second.ended; };
  return {.step = steps.next_step,
          .pass = pass_,
          .batches = steps.batches,
          .pass_batches = steps.pass_batches,
          .pass_begun = std::ranges::any_of(steps.pushes, is_batch) || pass_begun(trainers_)};
}

void StepClock::take_over(int rank, bool) {
  std::erase_if(trainer(rank).pushes, [](const auto& push) { return !push.second.complete(); });
}

void StepClock::store_chunks(PendingPush& push) {
  if (!context_.states.store(push)) return;
  context_.held.set_chunk_bytes(context_.states.chunk_bytes() + pending_chunk_bytes(trainers_));
}

// Moves the trainer behind its next step: its push is removed, and its requests are answered with `done`,
// which is kept for processes that push the step again.  The last lead() + 1 answers are enough, since a
// trainer does not push further ahead of the steps whose answers it has.  The replies are taken out first,
// since the push is gone when they are answered.
void StepClock::finish(TrainerSteps& trainer, const Done& done) {
  auto found = trainer.pushes.find(trainer.next_step);
  std::vector<ReplyPtr> replies = std::move(found->second.replies);
  if (!found->second.ended) ++trainer.batches, ++trainer.pass_batches;
  rest_.set_at_end(trainer.rank, found->second.ended && !found->second.absent);
  store_chunks(found->second);
  trainer.pushes.erase(found);
  ++trainer.next_step;
  if (!context_.pulls.keeps_answers()) context_.pulls.history(trainer.rank).forget_before(trainer.next_step);
  trainer.done.push_back(done);
  if (trainer.done.size() > lead() + 1) trainer.done.pop_front();
  for (ReplyPtr& reply : replies) reply->answer(Payload(encode_done(done)));
}

void StepClock::end_pass() {
  ++pass_;
  for (TrainerSteps& trainer : trainers_) trainer.pass_batches = 0;
  rest_.begin_pass(trainers_.size());
}

void StepClock::begin_end_checkpoint() {
  note_end_checkpoint();
  context_.checkpoints.plan() = {};
  context_.checkpoints.begin(clock_, /*at_end=*/true);
}

void StepClock::note_end_checkpoint() {
  for (TrainerSteps& trainer : trainers_) {
    trainer.end_checkpoint = trainer.next_step;
    trainer.marker_at = 0;
  }
}

// Deals the rest to the ranks that were not given up.  A rank that returns later waits for the next dealing.
void StepClock::deal_rest() {
  std::vector<uint64_t> pass_batches;
  std::vector<int> takers;
  for (const TrainerSteps& trainer : trainers_) {
    pass_batches.push_back(trainer.pass_batches);
    if (!context_.roster.is_given_up(trainer.rank)) takers.push_back(trainer.rank);
  }
  rest_.deal(pass_batches, takers);
}

RankWork StepClock::work_of(int rank) const {
  RankWork work = rest_.of(rank);
  work.pass = pass_;
  return work;
}

void count_chunk_bytes(HeldMemory& held, const TrainerStates& states, const StepClock& clock) {
  held.set_chunk_bytes(states.chunk_bytes() + pending_chunk_bytes(clock.trainers()));
}

}  // namespace ps
