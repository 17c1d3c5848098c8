// Who takes part in a shard's run: trainers that come, go, return, and do not come back.
#include <algorithm>

#include "base/error.h"
#include "ps/server/shard.h"
#include "ps/server/shard_state.h"

namespace ps {

namespace {

template <class... Numbers>
std::string numbers(Numbers... all) {
  std::string bytes;
  (put(bytes, all), ...);
  return bytes;
}

}  // namespace

RunStatus Shard::join(const Member& member, Time now) {
  PS_CHECK(member.rank >= 0 && member.rank < member.trainers && member.generation != 0);
  const size_t rank = static_cast<size_t>(member.rank);
  const bool back = rank < trainers_.size() && trainers_[rank].generation == member.generation;
  if (!back) admit(member, now);
  Trainer& trainer = trainers_[rank];
  if (trainer.given_up) {
    fail(Code::kFenced, "trainer ", rank, " was away for more than ",
         significant(to_seconds(loss_.timeout), 3),
         " s, and the others went on without it; start it again to take part");
  }
  ++trainer.connections;
  return run_status(trainer);
}

// A process that was not here before.
void Shard::admit(const Member& member, Time now) {
  const bool begins = begins_run(member, now);
  if (member.known || (begins && member.going)) refuse_known(member, begins);
  if (begins) {
    if (running()) fail(Code::kUnavailable, "another run has to end first");
    begin_run(member, now);
  }
  if (trainers_.size() != static_cast<size_t>(member.trainers)) {
    fail(Code::kUsage, "trainer ", member.rank, " was started as one of ", member.trainers,
         " trainers, the others as ", trainers_.size());
  }
  Trainer& trainer = trainers_[static_cast<size_t>(member.rank)];
  if (trainer.connections > 0) {
    fail(Code::kUnavailable, "trainer ", member.rank, " is another process; it has to end first");
  }
  take_over(trainer, member.generation);
}

// One that was here, and another process has its rank; or this shard does not know what it was there for.
void Shard::refuse_known(const Member& member, bool begins) const {
  if (!begins && trainers_[static_cast<size_t>(member.rank)].generation != 0) {
    fail(Code::kFenced, "another process has taken the part of trainer ", member.rank);
  }
  fail(kStateLost, "the run of trainer ", member.rank,
       " is not known here any more: the server was restarted, or another run has begun");
}

bool Shard::running() const {
  return std::ranges::any_of(trainers_, [](const Trainer& trainer) { return trainer.connections > 0; });
}

// Nobody has had a connection for as long as a trainer would have been waited for: whoever comes begins anew.
bool Shard::is_left(Time now) const {
  return std::ranges::all_of(trainers_, [&](const Trainer& trainer) {
    return trainer.connections == 0 && now >= add_time(trainer.gone_since, loss_.timeout);
  });
}

bool Shard::begins_run(const Member& member, Time now) const {
  if (trainers_.empty()) return true;
  if (member.run != 0) return member.run != run_;
  if (!loss_.go_on && is_left(now)) return true;
  const bool same_size = trainers_.size() == static_cast<size_t>(member.trainers);
  return same_size ? trainers_[static_cast<size_t>(member.rank)].ended : !running();
}

// Runs are known by the generation of whoever began them at the first shard.
void Shard::begin_run(const Member& member, Time now) {
  refuse_waiting(Error(kStateLost, "another run has begun"));
  run_ = member.run != 0 ? member.run : member.generation;
  note(ShardEvent::kRun, member.rank, [&] { return numbers(run_, static_cast<uint32_t>(member.trainers)); });
  trainers_.clear();
  trainers_.resize(static_cast<size_t>(member.trainers));
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    trainers_[rank].rank = static_cast<int>(rank);
    trainers_[rank].gone_since = now;
  }
  clock_ = pass_ = cut_at_ = 0;
  going_ = marks_ = false;
  *gathering_ = {};
  if (restored_) go_on_from(*std::exchange(restored_, std::nullopt));
}

// Whole pushes of the process before stay, and make those of this one repeated.
void Shard::take_over(Trainer& trainer, uint64_t generation) {
  note(ShardEvent::kTrainer, trainer.rank, [&] { return numbers(generation); });
  if (trainer.generation != 0) ++counters_.trainers_returned;
  trainer.generation = generation;
  trainer.ended = false;
  for (auto& [number, pull] : trainer.pulls) trainer.former_pulls.push_back(std::move(pull));
  trainer.pulls.clear();  // numbers are each process's own
  std::erase_if(trainer.pushes, [](const auto& push) { return !push.second.complete(); });
  trainer.was_given_up = std::exchange(trainer.given_up, false);
  if (trainer.was_given_up && !consistency_.async) enter(trainer);
}

// Takes the trainer in from the present step on; from the next, when the present one is measured without it.
void Shard::enter(Trainer& trainer) {
  const uint64_t clock = clock_;
  bool measured = std::ranges::any_of(trainers_, [clock](const Trainer& each) {
    auto found = each.pushes.find(clock);
    return found != each.pushes.end() && !found->second.measured.empty();
  });
  const bool takes_part = trainer.pushes.contains(clock);
  trainer.next_step = measured && !takes_part ? clock + 1 : clock;
  std::erase_if(trainer.pushes, [&](const auto& push) { return push.first < trainer.next_step; });
}

// Who has pushed for a pass has done what follows the one before, or has its model made of what the servers
// keep: to save what they have now would be too late as soon as the others push too.
RunStatus Shard::run_status(const Trainer& trainer) const {
  auto is_batch = [](const auto& push) { return push.second.complete() && !push.second.ended; };
  const bool begun =
      std::ranges::any_of(trainer.pushes, is_batch) ||
      std::ranges::any_of(trainers_, [](const Trainer& each) { return each.pass_batches > 0; });
  return {.run = run_,
          .step = trainer.next_step,
          .pass = pass_,
          .batches = trainer.batches,
          .pass_batches = trainer.pass_batches,
          .pass_begun = begun,
          .gathered = gathering_->number,
          .was_given_up = trainer.was_given_up,
          .going = going_,
          .cut_at = consistency_.async ? trainer.mark_at : cut_at_};
}

void Shard::leave(const Member& member, Time now) {
  size_t rank = static_cast<size_t>(member.rank);
  if (rank >= trainers_.size() || trainers_[rank].generation != member.generation) return;
  --trainers_[rank].connections;
  trainers_[rank].gone_since = now;
  forget_unwanted();
}

// What was asked over connections that are gone has been, or will be, asked again.
void Shard::forget_unwanted() {
  auto unwanted = [](const ReplyPtr& reply) { return !reply->wanted(); };
  std::erase_if(waiting_pulls_, [&](const WaitingPull& pull) { return unwanted(pull.reply); });
  std::erase_if(gathering_->replies, unwanted);
  for (Trainer& trainer : trainers_) {
    for (auto& [step, push] : trainer.pushes) std::erase_if(push.replies, unwanted);
  }
}

size_t Shard::num_waiting() const {
  size_t count = waiting_pulls_.size() + gathering_->replies.size();
  for (const Trainer& trainer : trainers_) {
    for (const auto& [step, push] : trainer.pushes) count += push.replies.size();
  }
  return count;
}

void Shard::end_run(int rank) {
  Trainer& ending = trainer(rank);
  note(ShardEvent::kEndRun, rank, [] { return std::string_view(); });
  ending.ended = true;
}

Shard::Trainer& Shard::trainer(int rank) {
  size_t index = static_cast<size_t>(rank);
  if (index >= trainers_.size()) fail(kStateLost, "the run of trainer ", rank, " has ended");
  return trainers_[index];
}

bool Shard::anything_waits() const {
  if (!waiting_pulls_.empty() || !gathering_->replies.empty()) return true;
  return std::ranges::any_of(trainers_, [](const Trainer& trainer) { return !trainer.pushes.empty(); });
}

std::vector<Shard::Trainer*> Shard::missing_trainers(Time now) {
  std::vector<Trainer*> missing;
  for (Trainer& trainer : trainers_) {
    bool gone = trainer.connections == 0 && now >= add_time(trainer.gone_since, loss_.timeout);
    if (gone && !trainer.given_up && !trainer.ended && !gave_end(trainer)) missing.push_back(&trainer);
  }
  return missing;
}

// A connection that takes nothing is closed after a minute.
void Shard::check_answers(Time now) {
  constexpr Duration kLong = std::chrono::seconds(90);
  if (!starved_) starved_since_.reset();
  if (starved_ && !starved_since_) starved_since_ = now;
  starved_for_long_ = starved_since_ && now - *starved_since_ >= kLong;
}

void Shard::check_trainers(Time now) {
  check_answers(now);
  if (!anything_waits()) return;
  const std::vector<Trainer*> missing = missing_trainers(now);
  if (missing.empty()) return;
  if (loss_.go_on && running()) return go_on_without(missing);
  std::vector<std::string> ranks;
  for (const Trainer* trainer : missing) ranks.push_back(std::to_string(trainer->rank));
  refuse_waiting(
      Error(Code::kFenced, cat("no connection from trainer ", ps::join(ranks, ", "), " of ", trainers_.size(),
                               " for ", significant(to_seconds(loss_.timeout), 3), " s, at step ", clock_)));
}

// What they have pushed for steps that are not applied counts, if it is whole; alone on its own, without
// others' steps to be part of, it is dropped.
void Shard::go_on_without(std::span<Trainer* const> missing) {
  note(ShardEvent::kGoOn, 0, [&] {
    std::string ranks;
    for (const Trainer* trainer : missing) put(ranks, static_cast<int32_t>(trainer->rank));
    return ranks;
  });
  for (Trainer* trainer : missing) {
    trainer->given_up = true;
    ++counters_.trainers_given_up;
    std::erase_if(trainer->pushes, [this](const auto& push) {
      return !push.second.complete() || (consistency_.async && !push.second.ended);
    });
  }
  try {
    if (consistency_.async) begin_aligned_cut();
    consistency_.async ? end_asynchronous_pass() : apply_synchronous();
  } catch (const Error& error) {
    broken_ = error.within(cat("step ", counters_.steps));
    return refuse_waiting(*broken_);
  }
  finish_gathering();
}

void Shard::refuse_waiting(const Error& error) {
  std::vector<ReplyPtr> replies = std::move(gathering_->replies);
  gathering_->replies.clear();
  for (WaitingPull& waiting : waiting_pulls_) replies.push_back(std::move(waiting.reply));
  waiting_pulls_.clear();
  for (Trainer& trainer : trainers_) {
    for (auto& [step, push] : trainer.pushes) {
      for (ReplyPtr& reply : push.replies) replies.push_back(std::move(reply));
    }
    trainer.pushes.clear();
  }
  for (ReplyPtr& reply : replies) reply->fail(error);
}

}  // namespace ps
