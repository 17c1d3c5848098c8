// Checkpoints of a shard: when they begin, and how a run goes on from one.
#include <algorithm>

#include "base/error.h"
#include "ps/shard.h"
#include "ps/shard_state.h"
#include "ps/table_checkpoint.h"

namespace ps {

namespace {

constexpr const char* kRunState = "run";

}  // namespace

void Shard::on_cut(std::function<void(uint64_t)> begin, std::function<bool(uint64_t)> wanted) {
  begin_cut_ = std::move(begin);
  cut_wanted_ = std::move(wanted);
}

// When the next checkpoint begins, which trainers are told with the answers to this step, and shards by
// their pushes: after the first step that no trainer has pushed before it hears of it.
uint64_t Shard::next_cut() {
  if (cut_at_ > clock_) return cut_at_;
  const uint64_t next = clock_ + consistency_.lead() + 1;
  cut_at_ = cut_wanted_ && cut_wanted_(next) ? next : 0;
  return cut_at_;
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
  std::map<std::string, std::string> states = tables_.optimizer_states();
  if (!is_first_) return states;
  add_step_rule_state(rule_, states);
  RunState run{cut_number(), pass_, {}};
  for (const Trainer& trainer : trainers_) run.trainers.push_back({trainer.batches, trainer.pass_batches});
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
  }
}

void Shard::check(const Member& member) const {
  const size_t rank = static_cast<size_t>(member.rank);
  if (rank < trainers_.size() && trainers_[rank].generation == member.generation) return;
  fail(kStateLost, "the run of trainer ", member.rank, " is over: another one has begun");
}

}  // namespace ps
