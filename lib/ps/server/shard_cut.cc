// Checkpoints of a shard: when they begin, and how a run goes on from one.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/server/shard.h"
#include "ps/server/shard_state.h"
#include "store/table_checkpoint.h"

namespace ps {

namespace {

// On disk.
std::string trainer_state(size_t rank) {
  return cat("trainer-", rank);
}

}  // namespace

void Shard::on_cut(std::function<void(uint64_t, bool)> begin, std::function<bool(uint64_t)> wanted,
                   bool at_ends) {
  begin_cut_ = std::move(begin);
  cut_wanted_ = std::move(wanted);
  cut_at_ends_ = at_ends;
}

std::optional<uint64_t> Shard::pass_just_ended() const {
  const bool begun =
      std::ranges::any_of(trainers_, [](const Trainer& each) { return each.pass_batches > 0; });
  return begun || pass_ == 0 ? std::nullopt : std::optional(pass_ - 1);
}

// A log tells of it, since it may be the clock that decides.
bool Shard::ask_cut(uint64_t number) const {
  if (!cut_wanted_ || !cut_wanted_(number)) return false;
  note(ShardEvent::kCut, 0, [number] {
    std::string body;
    put(body, number);
    return body;
  });
  return true;
}

// When the next checkpoint begins, which trainers are told with the answers to this step, and shards by
// their pushes: after the first step that no trainer has pushed before it hears of it.
uint64_t Shard::next_cut() {
  if (cut_at_ > clock_) return cut_at_;
  const uint64_t next = clock_ + consistency_.lead() + 1;
  cut_at_ = ask_cut(next) ? next : 0;
  return cut_at_;
}

// The same for a trainer of an asynchronous run, which does not begin a step before all shards have answered
// the one before: its next push is the first that it has not made.
uint64_t Shard::next_mark(Trainer& trainer) {
  if (!marks_) marks_ = ask_cut(cut_number() + 1);
  if (!marks_ || trainer.marked) return 0;
  if (trainer.mark_at <= trainer.next_step) trainer.mark_at = trainer.next_step + 2;
  return trainer.mark_at;
}

bool Shard::has_data_left(Trainer& trainer) const {
  const Push* push = next_push(trainer);
  return push == nullptr || !push->ended;
}

// Begins the checkpoint when the last mark has come, and then applies what has waited for that.  Where all
// trainers come to the end of the pass without a mark, the checkpoint there is the one that is wanted.
void Shard::begin_aligned_cut() {
  auto awaited = [this](Trainer& each) { return !each.given_up && !each.marked && has_data_left(each); };
  if (std::ranges::any_of(trainers_, awaited)) return;
  marks_ = false;
  if (std::ranges::none_of(trainers_, &Trainer::marked)) return;
  for (Trainer& trainer : trainers_) trainer.marked = false;
  if (begin_cut_) begin_cut_(cut_number(), /*at_end=*/false);
  for (Trainer& trainer : trainers_) apply_asynchronous(trainer);
}

void Shard::take_state(Trainer& trainer, Push& push, uint64_t batches) {
  take_kept(trainer, push);
  std::string& state = push.pieces.rbegin()->second.state;
  if (state.empty()) return;
  trainer.state = std::exchange(state, "");
  trainer.state_batches = batches;
}

Payload Shard::trainer_states(int rank) {
  return Payload(encode_gathered(trainer(rank).former_states));
}

// By which all shards know a checkpoint.
uint64_t Shard::cut_number() const {
  if (!consistency_.async) return clock_;
  uint64_t number = pass_;
  for (const Trainer& trainer : trainers_) number += trainer.batches;
  return number;
}

// What all shards have in common comes from the first.
std::map<std::string, std::string> Shard::states() const {
  std::map<std::string, std::string> states = tables_.states();
  if (!is_first_) return states;
  add_step_rule_state(rule_, states);
  RunState run{cut_number(), pass_, {}};
  for (const Trainer& trainer : trainers_) {
    if (!trainer.state.empty() && trainer.state_batches == trainer.batches) {
      states[trainer_state(run.trainers.size())] = trainer.state;
    }
    run.trainers.push_back({trainer.batches, trainer.pass_batches});
  }
  run.save(states[kRunState]);
  return states;
}

void Shard::restore(const CheckpointReader& reader) {
  if (!reader.has_state(kRunState)) {
    fail(Code::kUsage, quote(reader.folder()),
         " was written by a process without servers; --init-model takes its weights");
  }
  tables_.restore(reader);
  restore_step_rule(reader, rule_);
  const std::string bytes = reader.state(kRunState);
  ByteReader in(bytes);
  restored_ = RunState::load(in);
  restored_states_.assign(restored_->trainers.size(), "");
  for (size_t rank = 0; rank < restored_states_.size(); ++rank) {
    if (reader.has_state(trainer_state(rank))) restored_states_[rank] = reader.state(trainer_state(rank));
  }
  restore_kept(reader);
}

// As if all trainers had died right after the checkpoint began.  They begin with a gathering, and end every
// pass with one.
void Shard::go_on_from(const RunState& state) {
  const RunState dealt = state.dealt_to(trainers_.size());
  clock_ = dealt.clock;
  pass_ = dealt.pass;
  gathering_->number = dealt.pass + (dealt.pass_begun() ? 1 : 0);
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    trainers_[rank].next_step = clock_;
    trainers_[rank].batches = dealt.trainers[rank].batches;
    trainers_[rank].pass_batches = dealt.trainers[rank].pass_batches;
    trainers_[rank].kept_batches = trainers_[rank].batches;
  }
  const bool same = restored_states_.size() == trainers_.size();
  if (!same) give_to_all();
  for (size_t rank = 0; rank < restored_states_.size(); ++rank) {
    Trainer& trainer = trainers_[rank % trainers_.size()];
    if (same) trainer.kept = std::move(restored_kept_[rank]);
    if (restored_states_[rank].empty()) continue;
    if (same) trainer.state = restored_states_[rank], trainer.state_batches = trainer.batches;
    trainer.former_states.push_back(std::move(restored_states_[rank]));
  }
  restored_states_.clear();
  restored_kept_.clear();
}

void Shard::check(const Member& member) const {
  const size_t rank = static_cast<size_t>(member.rank);
  if (rank < trainers_.size() && trainers_[rank].generation == member.generation) return;
  fail(kStateLost, "the run of trainer ", member.rank, " is over: another one has begun");
}

}  // namespace ps
