// A trainer's hello comes to join, which begins a run if the roster says so, and gives the rank to the
// process.  A rank is lost in check_trainers, when its timeout is over while requests wait: the run then goes
// on without it, or all waiting requests fail.  Every change is noted for the log before it is made.
#include "ps/server/run_membership.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ps/server/snapshot_fields.h"

namespace ps {

// Returns the error that says why a run without these ranks cannot go on.
static Error without(const TrainerRoster& roster, std::span<const int> missing, uint64_t clock) {
  std::vector<std::string> ranks;
  bool left = false;
  for (int rank : missing) {
    ranks.push_back(std::to_string(rank));
    left |= roster.at(rank).left_at.has_value();
  }
  const std::string who = cat("trainer ", join(ranks, ", "), " of ", roster.size());
  const std::string where = cat(", at step ", clock);
  if (left) return Error(Code::kFenced, cat(who, " was ended before the run was done", where));
  const std::string seconds = significant(to_seconds(roster.loss().timeout), 3);
  return Error(Code::kFenced, cat("no connection from ", who, " for ", seconds, " s", where));
}

// A process that has its rank already only gets one more connection.  At the first shard, the number of a
// run is the generation of the process that begins it.
RunStatus RunMembership::join(const Member& member, Time now) {
  PS_CHECK(member.rank >= 0 && member.rank < member.ranks() && member.generation != 0);
  parts_.runner.finish();
  if (!shard_.roster.has(member)) {
    const bool begins = shard_.roster.begins_run(member, now);
    if (begins) {
      shard_.roster.check_can_begin(member, now);
      check_joins(member);
      begin_run(member.run != 0 ? member.run : member.generation, member, now);
    }
    shard_.roster.check_can_take_over(member);
    take_over(member.rank, member.generation);
  }
  shard_.roster.connect(member.rank);
  return run_status(shard_.roster.at(member.rank));
}

void RunMembership::check_joins(const Member& member) const {
  if (member.ranks() == member.trainers || shard_.clock.goes_on_without_trainers()) return;
  fail(Code::kUsage, "cluster.max_trainers is ", member.max_trainers,
       ", but nobody joins trainers that pull ahead: leave out cluster.max_trainers, or train.pull_ahead");
}

// Begins a run in all parts of the shard.  The memory of its trainers is checked first, since a change that
// was noted must be made.  Requests of the last run are refused while the lists that hold them are still
// there.
void RunMembership::begin_run(uint64_t run, const Member& member, Time now) {
  const uint32_t num_ranks = static_cast<uint32_t>(member.ranks());
  shard_.held.check_trainers(num_ranks);
  refuse_waiting(Error(kStateLost, "another run has begun"));
  parts_.changes.note(ShardEvent::kRun, member.rank, [&] {
    const uint32_t num_trainers = static_cast<uint32_t>(member.trainers);
    return num_ranks == num_trainers ? event_of_numbers(run, num_trainers)
                                     : event_of_numbers(run, num_trainers, num_ranks);
  });
  shard_.roster.begin_run(run, member.trainers, member.ranks(), now);
  shard_.clock.restart(num_ranks);
  shard_.states.restart(num_ranks);
  shard_.pulls.restart(num_ranks);
  parts_.gatherings.present().restart(0);
  shard_.checkpoints.plan() = {};
  shard_.going = false;
  count_chunk_bytes(shard_.held, shard_.states, shard_.clock);
  shard_.trainers_held = HeldBytes();  // nothing is held for the last run any more
  shard_.trainers_held = shard_.held.take_trainers(num_ranks);
  const std::optional<RunState> from = parts_.recovery.release_restored(num_ranks);
  if (!from) return;
  shard_.clock.resume_from(*from);
  shard_.states.resume();
  count_chunk_bytes(shard_.held, shard_.states, shard_.clock);
  // The run begins as if all trainers had died right after the checkpoint began: trainers begin with a
  // gathering, and end every pass with one.
  parts_.gatherings.present().restart(from->pass + (from->pass_begun() ? 1 : 0));
}

// Gives the rank to another process.  All that the process before had begun and not completed is dropped,
// since the new process begins it anew: held counts of keys, the numbers of its pulls, incomplete pushes,
// and slices of a gathering.
void RunMembership::take_over(int rank, uint64_t generation) {
  RosterEntry& trainer = shard_.roster.at(rank);
  parts_.changes.note(ShardEvent::kTrainer, rank, [&] { return event_of_numbers(generation); });
  if (trainer.generation != 0) ++shard_.counters.trainers_returned;
  if (trainer.generation == 0 && trainer.given_up) ++shard_.counters.trainers_joined;
  shard_.roster.take_over(trainer, generation);
  shard_.states.of(rank).last_return = 0;
  shard_.tables.forget_held_counts();
  shard_.pulls.history(rank).take_over();
  shard_.clock.take_over(rank, trainer.was_given_up);
  parts_.gatherings.present().forget_slices(rank);
  count_chunk_bytes(shard_.held, shard_.states, shard_.clock);
}

// Returns where the trainer begins.  A trainer that has pushed for a pass has done the work that follows the
// pass before, or has its model made from what the servers keep: saving what they have now would be too late
// as soon as the others push too.
RunStatus RunMembership::run_status(const RosterEntry& trainer) const {
  const TrainerPosition position = shard_.clock.position_of(trainer.rank);
  return {.run = shard_.roster.run(),
          .step = position.step,
          .held = position.held,
          .pass = position.pass,
          .batches = position.batches,
          .pass_batches = position.pass_batches,
          .pass_begun = position.pass_begun,
          .gathered = parts_.gatherings.present().number(),
          .dealings = shard_.clock.rest().dealings(),
          .deals = shard_.roster.loss().go_on || shard_.clock.rest().dealings() > 0,
          .was_given_up = trainer.was_given_up,
          .has_rows = shard_.states.of(trainer.rank).has_rows,
          .going = shard_.going,
          .checkpoint_at = shard_.clock.next_checkpoint(trainer.rank),
          .checkpoint_number = shard_.clock.trainer(trainer.rank).marker_number};
}

void RunMembership::leave(const Member& member, Time now) {
  if (!shard_.roster.has(member)) return;
  shard_.roster.disconnect(member, now);
  parts_.waiting.forget_unwanted();
}

bool RunMembership::is_unused(Time now) const {
  if (shard_.roster.run() == 0) return true;
  return shard_.counters.steps == 0 && !resumed_ &&
         (shard_.roster.is_left(now) || shard_.roster.is_stalled(now));
}

void RunMembership::end_run(int rank) {
  parts_.runner.finish();
  RosterEntry& ending = shard_.roster.at(rank);
  parts_.changes.note(ShardEvent::kEndRun, rank, empty_event);
  ending.ended = true;
}

// A process that came after the others had gone on without its rank found them within a run, so they need not
// wait for another process in its place.
void RunMembership::leave_run(int rank, Time now) {
  parts_.runner.finish();
  shard_.roster.leave_run(rank, now);
  const RosterEntry& trainer = shard_.roster.at(rank);
  if (goes_on() && trainer.was_given_up && !trainer.given_up && !trainer.ended)
    go_on_without(std::vector{rank});
}

// A trainer is missed only while something waits.  A rank that has given the last gathering of the run has
// nothing left to do, and may be gone.  The run does not go on without trainers while nobody is connected
// who could go on.
void RunMembership::check_trainers(Time now) {
  shard_.pulls.check_room(now);
  if (!parts_.waiting.any()) return;
  std::vector<int> missing = shard_.roster.missing(now);
  std::erase_if(missing, [this](int rank) { return parts_.gatherings.present().has_given_end(rank); });
  if (missing.empty()) return;
  if (goes_on() && shard_.roster.anybody_connected()) return go_on_without(missing);
  refuse_waiting(without(shard_.roster, missing, shard_.clock.clock()));
}

// The step that waited for these ranks may be applied in slices.  A gathering that waited for them is
// finished after its end, which settle finds out by was_lost_.
void RunMembership::go_on_without(std::span<const int> ranks) {
  parts_.runner.finish();
  parts_.changes.note(ShardEvent::kGoOn, 0, [&] {
    std::string body;
    for (int rank : ranks) put(body, static_cast<int32_t>(rank));
    return body;
  });
  for (int rank : ranks) {
    shard_.roster.at(rank).given_up = true;
    ++shard_.counters.trainers_given_up;
  }
  was_lost_ = true;
  parts_.runner.run([&] { shard_.clock.go_on_without(ranks); });
  count_chunk_bytes(shard_.held, shard_.states, shard_.clock);
  parts_.runner.settle();
}

// Returns true if the run goes on without trainers that were given up: the job and its consistency must allow
// that.
bool RunMembership::goes_on() const {
  return shard_.roster.loss().go_on && shard_.clock.goes_on_without_trainers();
}

void RunMembership::settle() {
  if (std::exchange(was_lost_, false) && !parts_.runner.broken()) parts_.gatherings.finish_if_complete();
}

void RunMembership::refuse_waiting(const Error& error) {
  parts_.runner.finish();
  std::vector<ReplyPtr> replies = parts_.waiting.release_replies();
  count_chunk_bytes(shard_.held, shard_.states, shard_.clock);
  for (ReplyPtr& reply : replies) reply->fail(error);
}

// No trainer is connected to a shard that was made from a log.
void RunMembership::end_replay(Time now) {
  resumed_ = true;
  for (RosterEntry& trainer : shard_.roster.trainers()) trainer.gone_since = now;
  parts_.waiting.forget_unwanted();
}

}  // namespace ps
