#include "ps/server/asynchronous_clock.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ps {

namespace {

bool has_data_left(TrainerSteps& trainer) {
  const PendingPush* push = trainer.next_push();
  return push == nullptr || !push->ended;
}

// Returns the batches of the trainer that the clock does not count yet.
uint64_t uncounted_batches(const TrainerSteps& trainer) {
  return trainer.counted ? trainer.batches - *trainer.counted : 0;
}

}  // namespace

void AsynchronousClock::advance(int rank) {
  to_advance_.push_back(rank);
  go_on();
}

// Applies the steps of the trainers in to_advance_.  A step that ends a checkpoint's wait puts all trainers
// into the list (begin_aligned_checkpoint): these come first, then the rest of this trainer's steps, then the
// trainers that were behind it.
void AsynchronousClock::go_on() {
  if (advances_) return;
  if (std::exchange(ends_pass_, false)) end_pass_of_all();
  if (ends_pass_) return;
  advances_ = true;
  while (!to_advance_.empty()) {
    const int rank = to_advance_.front();
    to_advance_.erase(to_advance_.begin());
    const size_t num_behind = to_advance_.size();
    // A step in slices keeps its trainer in the list, but an end of the pass in slices does not: ends_pass_
    // leads back to it.
    const bool more = apply_next(trainer(rank)) || (context_.applier.busy() && !ends_pass_);
    if (more) to_advance_.insert(to_advance_.end() - static_cast<ptrdiff_t>(num_behind), rank);
    if (context_.applier.busy()) break;
  }
  advances_ = false;
  if (to_advance_.empty() && std::exchange(ends_behind_, false)) end_pass_of_all();
}

// Applies the next step of the trainer.  Returns false if there is none, if it waits for others, or if it
// is applied in slices; in the last case this is called again.
//
// A trainer whose barrier marker has come waits for the markers of the others.  A push is dropped if the
// shard has applied more than max_lag_ steps since the trainer's last pull; it still counts as a step of
// the trainer, which may mark a checkpoint.
bool AsynchronousClock::apply_next(TrainerSteps& trainer) {
  PendingPush* push = trainer.next_push();
  if (push == nullptr || trainer.has_marker) return false;
  if (push->ended) {
    store_chunks(*push);
    begin_aligned_checkpoint();
    end_pass_of_all();
    return false;
  }
  const bool drop = max_lag_ > 0 && context_.counters.steps - trainer.pulled_at > max_lag_;
  if (!drop && wait_for_squares(*push)) return false;
  std::vector<ExactSquares> squares = push->squares;
  if (!drop && !context_.applier.apply({&push, 1})) return false;
  context_.counters.pushes_dropped += drop ? 1 : 0;
  trainer.has_marker = trainer.marks_checkpoint(lead());
  CheckpointAlignment::Plan& plan = context_.checkpoints.plan();
  if (trainer.has_marker) plan.number = std::max(plan.number, push->checkpoint_number);
  const uint64_t marker_at = plan_marker(trainer);
  finish(trainer, {.learning_rate = context_.applier.rule().learning_rate(),
                   .dropped = drop,
                   .checkpoint_at = marker_at,
                   .checkpoint_number = marker_at != 0 ? trainer.marker_number : 0,
                   .squares = std::move(squares)});
  begin_aligned_checkpoint();
  return true;
}

// If gradients are clipped by norm, sends the trainer the squares of this shard's part of its push, and
// returns true until the sums of all shards have come back.
bool AsynchronousClock::wait_for_squares(PendingPush& push) {
  if (!context_.applier.needs_squares()) return false;
  PendingPush* const alone = &push;
  const std::optional<std::vector<ExactSquares>> squares =
      push.squares.empty() ? context_.applier.squares({&alone, 1}) : push.squares;
  if (squares) answer_with_squares(push, *squares, context_.applier.rule().learning_rate());
  return true;
}

// Once the last trainer has no data left, ends the pass or deals the rest of its data, and answers all
// trainers.  If there is more to do at the end of the pass, go_on calls it again.  The clock gets its new
// number before the trainers are finished, since their last pushes tell which of them have data left.  The
// checkpoint of the end begins last, so that its run state is that of the next pass.
void AsynchronousClock::end_pass_of_all() {
  const std::vector<TrainerSteps*> all = pushers([](const TrainerSteps&) { return true; });
  if (std::ranges::any_of(all, &TrainerSteps::has_marker)) return;
  if (all.empty() || !std::ranges::all_of(all, [](TrainerSteps* each) { return each->next_push()->ended; })) {
    return;
  }
  int64_t pass = 0;
  uint64_t number = 0;
  bool checkpoint = context_.checkpoints.at_ends();
  for (TrainerSteps* trainer : all) {
    pass = std::max(pass, trainer->next_push()->info.pass);
    number = std::max(number, trainer->next_push()->checkpoint_number);
    checkpoint |= trainer->next_push()->checkpoint;
  }
  const bool ends = closes_pass(all);
  if (ends && !context_.applier.end_pass(pass)) {
    ends_pass_ = true;
    return;
  }
  const Done done{.learning_rate = context_.applier.rule().learning_rate(),
                  .pass_ended = ends,
                  .dealt = !ends,
                  .checkpoint_number = ends ? 0 : next_number()};
  if (ends && checkpoint)
    number_checkpoint(number, 1);
  else if (ends)
    ++clock_;
  for (TrainerSteps* trainer : all) finish(*trainer, done);
  if (!ends) return deal_rest();
  end_pass();
  if (checkpoint) begin_end_checkpoint();
}

// Returns the number of steps of the trainer before the checkpoint, the last of which it marks; 0: it marks
// none.  A trainer does not begin a step before all shards have answered the last of the steps that it may be
// ahead of, so the push after these is the first that it has not made.
uint64_t AsynchronousClock::plan_marker(TrainerSteps& trainer) {
  CheckpointAlignment::Plan& plan = context_.checkpoints.plan();
  if (!plan.wants_markers && context_.checkpoints.decide(next_number())) {
    plan.wants_markers = true;
    plan.number = next_number();
  }
  if (!plan.wants_markers || trainer.has_marker) return 0;
  if (trainer.marker_at <= trainer.next_step) trainer.marker_at = trainer.next_step + lead_ + 2;
  trainer.marker_number = plan.number;
  return trainer.marker_at;
}

// Begins the checkpoint when every trainer with data left has pushed its barrier marker.  If all trainers
// come to the end of the pass without a marker, the checkpoint at that end is the one that was wanted.
void AsynchronousClock::begin_aligned_checkpoint() {
  auto awaited = [this](TrainerSteps& each) {
    return !context_.roster.is_given_up(each.rank) && !each.has_marker && has_data_left(each);
  };
  if (std::ranges::any_of(trainers_, awaited)) return;
  context_.checkpoints.plan().wants_markers = false;
  if (std::ranges::none_of(trainers_, &TrainerSteps::has_marker)) return;
  number_checkpoint(std::exchange(context_.checkpoints.plan().number, 0), 0);
  for (TrainerSteps& trainer : trainers_) trainer.has_marker = false;
  context_.checkpoints.begin(clock_, /*at_end=*/false);
  std::vector<int> all;
  for (const TrainerSteps& trainer : trainers_) all.push_back(trainer.rank);
  to_advance_.insert(to_advance_.begin(), all.begin(), all.end());
  go_on();
}

// A push of these ranks is dropped, since there are no pushes of others with which it makes a step.  A push
// that says that the data have ended stays.
void AsynchronousClock::go_on_without(std::span<const int> ranks) {
  for (int rank : ranks) {
    std::erase_if(trainer(rank).pushes,
                  [](const auto& push) { return !push.second.complete() || !push.second.ended; });
  }
  ends_behind_ = true;
  begin_aligned_checkpoint();
  go_on();
}

// Returns the number of a checkpoint that this shard, the first, would decide on now: that of the batches and
// ends of passes that it has applied, and one more.
uint64_t AsynchronousClock::next_number() const {
  uint64_t number = pass_;
  for (const TrainerSteps& trainer : trainers_) number += trainer.batches;
  return std::max(number, clock_) + 1;
}

// Sets the clock to the number of a checkpoint that begins now, after the end of `passes` passes.  `told` is the
// number that trainers tell; 0: none.  A trainer that is lost, and returns, counts again from the first
// checkpoint on in which it takes part.
void AsynchronousClock::number_checkpoint(uint64_t told, uint64_t passes) {
  uint64_t number = clock_ + passes;
  for (TrainerSteps& trainer : trainers_) {
    const bool takes_part = trainer.has_marker || !has_data_left(trainer);
    if (takes_part) number += uncounted_batches(trainer);
    trainer.counted = takes_part ? std::optional(trainer.batches) : std::nullopt;
  }
  clock_ = std::max(told != 0 ? told : number, clock_ + 1);
}

}  // namespace ps
