#include "ps/server/trainer_roster.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/wire/hello.h"
#include "ps/wire/run_status.h"

namespace ps {

void fail_to_join(int rank, int num_trainers) {
  fail(Code::kUnavailable, "trainer ", rank, " joins a run of ", num_trainers,
       " trainers once they have begun it, and they have not");
}

RosterEntry& TrainerRoster::at(int rank) {
  return const_cast<RosterEntry&>(std::as_const(*this).at(rank));
}

const RosterEntry& TrainerRoster::at(int rank) const {
  const size_t index = static_cast<size_t>(rank);
  if (index >= trainers_.size()) fail(kStateLost, "the run of trainer ", rank, " has ended");
  return trainers_[index];
}

bool TrainerRoster::has(const Member& member) const {
  const size_t rank = static_cast<size_t>(member.rank);
  return rank < trainers_.size() && trainers_[rank].generation == member.generation;
}

void TrainerRoster::check(const Member& member) const {
  if (has(member)) return;
  fail(kStateLost, "the run of trainer ", member.rank, " is over: another one has begun");
}

bool TrainerRoster::anybody_connected() const {
  return std::ranges::any_of(trainers_, [](const RosterEntry& trainer) { return trainer.connections > 0; });
}

bool TrainerRoster::is_left(Time now) const {
  return std::ranges::all_of(trainers_, [&](const RosterEntry& trainer) {
    return trainer.connections == 0 && now >= add_time(trainer.gone_since, loss_.timeout);
  });
}

bool TrainerRoster::is_stalled(Time now) const {
  const bool misses_some = std::ranges::any_of(
      trainers_, [](const RosterEntry& trainer) { return trainer.generation == 0 && !trainer.given_up; });
  return misses_some && now >= add_time(begun_at_, loss_.timeout);
}

bool TrainerRoster::has_ended() const {
  const auto ended = [](const RosterEntry& trainer) { return trainer.ended; };
  return std::ranges::any_of(trainers_, ended) &&
         std::ranges::all_of(trainers_,
                             [&](const RosterEntry& trainer) { return trainer.given_up || ended(trainer); });
}

// The order of the checks matters: a member that knows the number of its run is bound by it, and only the
// first shard, which gives the number, looks at connections and times.
bool TrainerRoster::begins_run(const Member& member, Time now) const {
  if (trainers_.empty()) return true;
  if (member.run != 0) return member.run != run_;
  if (!loss_.go_on && is_left(now)) return true;
  const bool same_size = trainers_.size() == static_cast<size_t>(member.ranks());
  return same_size ? trainers_[static_cast<size_t>(member.rank)].ended
                   : !anybody_connected() || is_stalled(now);
}

// Errors that another try cannot mend come first.  A stalled run has trained nothing, so its connections do
// not keep a run from beginning.
void TrainerRoster::check_can_begin(const Member& member, Time now) const {
  if (member.ranks() > kMostTrainers) {
    fail(Code::kUsage, member.ranks(), " trainers, expected at most ", kMostTrainers);
  }
  if (member.ranks() > member.trainers && !loss_.go_on) {
    fail(Code::kUsage, "cluster.max_trainers is ", member.max_trainers, ", more than the ", member.trainers,
         " of cluster.trainers, and the servers have cluster.on_trainer_loss stop: give them continue");
  }
  if (member.known || member.going) {
    fail(kStateLost, "the run of trainer ", member.rank,
         " is not known here any more: the server was restarted, or another run has begun");
  }
  if (anybody_connected() && !is_stalled(now)) fail(Code::kUnavailable, "another run has to end first");
  if (member.joins()) fail_to_join(member.rank, member.trainers);
}

// A process that this shard has welcomed before, but that does not have its rank, was replaced or is of
// another run.  A new process takes the rank when the last connection of the process before has ended.
void TrainerRoster::check_can_take_over(const Member& member) const {
  const size_t rank = static_cast<size_t>(member.rank);
  if (member.known && rank < trainers_.size() && trainers_[rank].generation != 0) {
    fail(Code::kFenced, "another process has taken the rank of trainer ", member.rank);
  }
  if (member.known) {
    fail(kStateLost, "the run of trainer ", member.rank,
         " is not known here any more: the server was restarted, or another run has begun");
  }
  if (trainers_.size() != static_cast<size_t>(member.ranks())) {
    fail(Code::kUsage, "trainer ", member.rank, " was started as one of ", member.ranks(),
         " trainers, the others as ", trainers_.size());
  }
  if (trainers_[rank].connections > 0) {
    fail(Code::kUnavailable, "trainer ", member.rank, " is another process; it has to end first");
  }
}

void TrainerRoster::begin_run(uint64_t run, int num_trainers, int num_ranks, Time now) {
  run_ = run;
  begun_at_ = now;
  trainers_.assign(static_cast<size_t>(num_ranks), {});
  for (int rank = 0; rank < num_ranks; ++rank) {
    RosterEntry& trainer = trainers_[static_cast<size_t>(rank)];
    trainer.rank = rank;
    trainer.gone_since = now;
    trainer.given_up = rank >= num_trainers;
  }
}

void TrainerRoster::take_over(RosterEntry& trainer, uint64_t generation) {
  trainer.generation = generation;
  trainer.ended = false;
  trainer.left_at.reset();
  trainer.was_given_up = std::exchange(trainer.given_up, false);
}

void TrainerRoster::connect(int rank) {
  RosterEntry& trainer = at(rank);
  if (trainer.given_up) {
    fail(Code::kFenced, "trainer ", rank, " was away for more than ",
         significant(to_seconds(loss_.timeout), 3),
         " s, and the others went on without it; start it again to take part");
  }
  ++trainer.connections;
}

void TrainerRoster::disconnect(const Member& member, Time now) {
  if (!has(member)) return;
  RosterEntry& trainer = at(member.rank);
  --trainer.connections;
  trainer.gone_since = now;
}

std::vector<int> TrainerRoster::absent() const {
  std::vector<int> absent;
  for (const RosterEntry& trainer : trainers_) {
    if (trainer.connections == 0 && !trainer.given_up && !trainer.ended) absent.push_back(trainer.rank);
  }
  return absent;
}

std::vector<int> TrainerRoster::given_up() const {
  std::vector<int> given_up;
  for (const RosterEntry& trainer : trainers_) {
    if (trainer.given_up) given_up.push_back(trainer.rank);
  }
  return given_up;
}

std::vector<int> TrainerRoster::missing(Time now) const {
  constexpr Duration kLeaveTime = std::chrono::seconds(1);
  std::vector<int> missing;
  for (const RosterEntry& trainer : trainers_) {
    const bool left = trainer.left_at && now >= add_time(*trainer.left_at, kLeaveTime);
    const bool gone =
        left || (trainer.connections == 0 && now >= add_time(trainer.gone_since, loss_.timeout));
    if (gone && !trainer.given_up && !trainer.ended) missing.push_back(trainer.rank);
  }
  return missing;
}

}  // namespace ps
