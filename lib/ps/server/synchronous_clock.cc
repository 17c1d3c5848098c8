#include "ps/server/synchronous_clock.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ps {

namespace {

bool all_hold_push_of(TrainerSteps* trainer) {
  return trainer->next_push()->all_hold;
}

}  // namespace

// Returns the trainers whose pushes make the next step.  A trainer that returned after it had been given up
// takes part from its first step on.
std::vector<TrainerSteps*> SynchronousClock::next_pushers() {
  return pushers([this](const TrainerSteps& trainer) { return trainer.next_step <= clock_; });
}

// The pulls that have waited for a step are answered before the next one, in slices too: while they are, go_on is
// called again.
void SynchronousClock::apply_complete_steps() {
  while (!context_.pulls.busy()) {
    const std::vector<TrainerSteps*> pushers = next_pushers();
    if (pushers.empty() || !apply_next_step(pushers)) return;
    SliceWork work = context_.applier.slice();
    context_.pulls.answer_waiting([this](uint64_t step) { return may_pull(step); }, clock_, work);
  }
}

// Applies the next step of these trainers, or ends the pass if none has data left.  Returns false if the
// step has to wait for the squares or the word of other shards, or is applied in slices: then this is
// called again, finds the same pushes, and goes on.
//
// A step goes through these stages.  AheadClock without clipping first waits until all trainers have said
// that all shards hold the step.  With clipping the step is measured, and waits for the sums of squares.
// AheadClock with several trainers then waits for the word of all, which comes with those sums; a step
// without data, which is not measured, is answered as held.  At last the step is applied, the clock
// advances, and the trainers get their answers.  A checkpoint begins after the trainers were finished, so
// that it has their new positions.
bool SynchronousClock::apply_next_step(std::span<TrainerSteps* const> pushers) {
  std::vector<PendingPush*> pushes;
  int64_t pass = 0;
  bool checkpoint = false, checkpoint_at_end = context_.checkpoints.at_ends();
  for (TrainerSteps* trainer : pushers) {
    PendingPush* push = trainer->next_push();
    (push->ended ? checkpoint_at_end : checkpoint) |=
        push->ended ? push->checkpoint : trainer->marks_checkpoint(lead());
    pass = std::max(pass, push->info.pass);
    if (!push->ended) pushes.push_back(push);
  }
  const bool all_told = std::ranges::all_of(pushers, all_hold_push_of);
  if (holds_steps() && !all_told) return false;
  if (wait_for_squares(pushes, pushers)) return false;
  if (needs_word_of_all() && !all_told) {
    if (pushes.empty()) answer_held(pushers);
    return false;
  }
  Done done{.pass_ended = pushes.empty() && closes_pass(pushers)};
  done.dealt = pushes.empty() && !done.pass_ended;
  if (!pushes.empty()) done.squares = pushes[0]->squares;
  if (!pushes.empty() && !context_.applier.apply(pushes)) return false;
  if (done.pass_ended && !context_.applier.end_pass(pass)) return false;
  done.learning_rate = context_.applier.rule().learning_rate();
  ++clock_;
  const bool end_checkpoint = done.pass_ended && checkpoint_at_end;
  checkpoint |= end_checkpoint;
  done.checkpoint_at = checkpoint ? 0 : plan_checkpoint();
  for (TrainerSteps* trainer : pushers) finish(*trainer, done);
  if (done.pass_ended) end_pass();
  if (done.dealt) deal_rest();
  if (end_checkpoint) begin_end_checkpoint();
  if (checkpoint && !end_checkpoint) context_.checkpoints.begin(clock_, /*at_end=*/false);
  return true;
}

// If gradients are clipped by norm, sends the trainers the squares of this shard's part of the step, and
// returns true until the sums of all shards have come back.
bool SynchronousClock::wait_for_squares(std::span<PendingPush* const> pushes,
                                        std::span<TrainerSteps* const> pushers) {
  if (pushes.empty() || !context_.applier.needs_squares()) return false;
  std::vector<ExactSquares> squares = pushes[0]->squares;
  if (squares.empty()) {
    std::optional<std::vector<ExactSquares>> measured = context_.applier.squares(pushes);
    if (!measured) return true;
    squares = std::move(*measured);
  }
  const double learning_rate = context_.applier.rule().learning_rate();
  for (TrainerSteps* trainer : pushers) {
    PendingPush& push = *trainer->next_push();
    push.squares = squares;
    if (!push.all_hold) answer_with_squares(push, squares, learning_rate);
  }
  return true;
}

void SynchronousClock::answer_held(PendingPush& push) const {
  const Done done{.learning_rate = context_.applier.rule().learning_rate(), .held = true};
  for (ReplyPtr& reply : std::exchange(push.replies, {})) reply->answer(Payload(encode_done(done)));
}

// Answers a step without data, which is not measured.
void SynchronousClock::answer_held(std::span<TrainerSteps* const> pushers) const {
  for (TrainerSteps* trainer : pushers) {
    if (!all_hold_push_of(trainer)) answer_held(*trainer->next_push());
  }
}

// Returns the step after which the next checkpoint begins; 0: none is planned.  Trainers learn it from the
// answers to this step, and other shards from their pushes, so it is the first step that no trainer has
// pushed before it learns of it.
uint64_t SynchronousClock::plan_checkpoint() {
  uint64_t& planned = context_.checkpoints.plan().next_step;
  if (planned > clock_) return planned;
  const uint64_t next = clock_ + lead() + 1;
  planned = context_.checkpoints.decide(next) ? next : 0;
  return planned;
}

void SynchronousClock::go_on_without(std::span<const int> ranks) {
  for (int rank : ranks) {
    std::erase_if(trainer(rank).pushes, [](const auto& push) { return !push.second.complete(); });
  }
  apply_complete_steps();
}

void SynchronousClock::take_over(int rank, bool returns) {
  StepClock::take_over(rank, returns);
  if (returns) enter(trainer(rank));
}

// Lets the trainer take part from the present step on, or from the next one if the present one was measured
// without it.
void SynchronousClock::enter(TrainerSteps& trainer) {
  const uint64_t clock = clock_;
  const bool measured = std::ranges::any_of(trainers_, [clock](const TrainerSteps& each) {
    auto found = each.pushes.find(clock);
    return found != each.pushes.end() && !found->second.squares.empty();
  });
  const bool takes_part = trainer.pushes.contains(clock);
  trainer.next_step = measured && !takes_part ? clock + 1 : clock;
  std::erase_if(trainer.pushes, [&](const auto& push) { return push.first < trainer.next_step; });
}

// ---- a trainer that is ahead

void AheadClock::advance(int rank) {
  if (holds_steps()) {
    for (auto& [step, push] : trainer(rank).pushes) {
      if (push.complete() && !push.all_hold) answer_held(push);
    }
  }
  SynchronousClock::advance(rank);
}

// The process that takes up the rank says again which steps all shards hold.  Until then no step is applied
// here that other shards may lack.
void AheadClock::take_over(int rank, bool returns) {
  SynchronousClock::take_over(rank, returns);
  for (auto& [step, push] : trainer(rank).pushes) push.all_hold = false;
}

// Counts the complete pushes that no step has applied yet as held: `step` moves behind them.  For a single
// trainer, batches and passes move, too, as if these steps were applied.
TrainerPosition AheadClock::position_of(int rank) const {
  const TrainerSteps& steps = trainer(rank);
  TrainerPosition position = StepClock::position_of(rank);
  if (trainers_.size() > 1) {
    for (; steps.has_complete_push(position.step); ++position.step) ++position.held;
    return position;
  }
  position.pass_begun = pass_begun(trainers_);
  for (auto push = steps.pushes.find(position.step); push != steps.pushes.end() && push->second.complete();
       push = steps.pushes.find(position.step)) {
    ++position.step, ++position.held;
    position.pass_begun = !push->second.ended;
    if (push->second.ended) {
      ++position.pass;
      position.pass_batches = 0;
    } else {
      ++position.batches, ++position.pass_batches;
    }
  }
  return position;
}

}  // namespace ps
