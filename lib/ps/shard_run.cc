// Who takes part in a shard's run: trainers that come, go, and do not come back.
#include <algorithm>

#include "base/error.h"
#include "ps/shard.h"
#include "ps/shard_state.h"

namespace ps {

void Shard::join(const Member& member, Time now) {
  PS_CHECK(member.rank >= 0 && member.rank < member.trainers && member.generation != 0);
  bool running = std::any_of(trainers_.begin(), trainers_.end(),
                             [](const Trainer& trainer) { return trainer.connections > 0; });
  size_t rank = static_cast<size_t>(member.rank);
  bool same_size = trainers_.size() == static_cast<size_t>(member.trainers);
  bool back = rank < trainers_.size() && trainers_[rank].generation == member.generation;
  if (!back && member.known) {
    fail(Code::kFenced, "the run of trainer ", member.rank,
         " is not known here any more: the server was restarted, or another run has begun");
  }
  if (!back && !running && !(same_size && untouched(trainers_[rank]))) begin_run(member.trainers, now);
  if (trainers_.size() != static_cast<size_t>(member.trainers)) {
    fail(Code::kUsage, "trainer ", member.rank, " was started as one of ", member.trainers,
         " trainers, the others as ", trainers_.size());
  }
  Trainer& trainer = trainers_[rank];
  if (!back && !untouched(trainer)) {
    fail(Code::kUnavailable, "trainer ", member.rank, " is another process; its run has to end first");
  }
  trainer.generation = member.generation;
  ++trainer.connections;
}

// Whether a process may take this rank without anybody noticing that another had it.
bool Shard::untouched(const Trainer& trainer) const {
  bool done_nothing = trainer.next_step == 0 && trainer.pushes.empty() && gathering_->number == 0 &&
                      !gathering_->given.contains(trainer.rank);
  return trainer.generation == 0 || (trainer.connections == 0 && done_nothing);
}

void Shard::begin_run(int trainers, Time now) {
  refuse_waiting(Error(Code::kFenced, "another run has begun"));
  trainers_.clear();
  trainers_.resize(static_cast<size_t>(trainers));
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    trainers_[rank].rank = static_cast<int>(rank);
    trainers_[rank].gone_since = now;
  }
  clock_ = 0;
  *gathering_ = {};
}

void Shard::leave(const Member& member, Time now) {
  size_t rank = static_cast<size_t>(member.rank);
  if (rank >= trainers_.size() || trainers_[rank].generation != member.generation) return;
  --trainers_[rank].connections;
  trainers_[rank].gone_since = now;
}

Shard::Trainer& Shard::trainer(int rank) {
  size_t index = static_cast<size_t>(rank);
  if (index >= trainers_.size()) fail(Code::kFenced, "the run of trainer ", rank, " has ended");
  return trainers_[index];
}

bool Shard::anything_waits() const {
  if (!waiting_pulls_.empty() || !gathering_->replies.empty()) return true;
  return std::any_of(trainers_.begin(), trainers_.end(), [](const Trainer& t) { return !t.pushes.empty(); });
}

void Shard::check_trainers(Time now) {
  if (!anything_waits()) return;
  std::vector<std::string> missing;
  for (const Trainer& trainer : trainers_) {
    bool gone = trainer.connections == 0 && now >= add_time(trainer.gone_since, trainer_timeout_);
    if (gone) missing.push_back(std::to_string(trainer.rank));
  }
  if (missing.empty()) return;
  refuse_waiting(Error(Code::kFenced,
                       cat("no connection from trainer ", ps::join(missing, ", "), " of ", trainers_.size(),
                           " for ", significant(to_seconds(trainer_timeout_), 3), " s, at step ", clock_)));
}

void Shard::refuse_waiting(const Error& error) {
  std::vector<ReplyPtr> replies = std::move(gathering_->replies);
  gathering_->replies.clear();
  gathering_->given.clear();
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
