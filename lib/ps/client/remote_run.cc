#include "ps/client/remote_run.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "membership/save_election.h"
#include "ps/wire/checkpoint_messages.h"

namespace ps {

namespace {

// Returns the position in the data.  If no batch of the next pass has begun, the position is the end of the last
// pass: the work that follows a pass (tests, models) may not be done yet.
RunPosition position_in(const RunStatus& run_status, bool pass_begun) {
  RunPosition position;
  position.batches = static_cast<int64_t>(run_status.batches);
  position.pass = static_cast<int64_t>(run_status.pass);
  position.pass_batches = static_cast<int64_t>(run_status.pass_batches);
  position.pass_ended = run_status.pass > 0 && !pass_begun;
  if (position.pass_ended) --position.pass;
  return position;
}

}  // namespace

// The order follows from what each part needs.  The shard from which this process goes on is chosen first
// (find_start), since it says the next step.  Then the pushes begin at that step, and steps that all shards
// hold are finished, so that no shard waits for the earlier process.  The state chunks must belong to the
// batches of that shard.  Last, with the rank restored, empty pushes are sent for steps that the others
// have made without this rank, and the rest of a lost trainer's data is taken over.
//
// The pass counts as begun if some shard of the same pass says so: shards may differ by the steps that were
// on their way.  The number of past gatherings follows from the position: there is one at the beginning,
// and one at the end of each pass.  Only the first shard counts them.
void RemoteRun::resume(const Consistency& consistency, TrainerStateLink& states) {
  bool given_up = false, begun = false;
  for (size_t s = 0; s < links_.size(); ++s) given_up |= links_.welcome(s).run_status.was_given_up;
  check_rows();
  const RunStatus& start = find_start(consistency, given_up);
  for (size_t s = 0; s < links_.size(); ++s) {
    const RunStatus& each = links_.welcome(s).run_status;
    begun |= each.pass == start.pass && each.pass_begun;
  }
  const uint64_t step = first_step(start, consistency);
  pushes_.begin_at(step, run_status());
  if (consistency.ahead > 0 && !consistency.async) finish_held(step);
  position_ = position_in(start, begun);
  position_.resumed = run_status().gathered > 0;
  if (position_.resumed) group_.set_num_gathered(static_cast<uint64_t>(position_.pass) + 1);
  states.resume(start.batches, given_up, consistency);
  figures_ = states.release_figures();
  if (given_up && !consistency.async) fill_steps();
  if (run_status().deals && position_.resumed) take_over_work(start);
}

// Throws if the earlier process of this rank had rows on a device: they are lost with that process.
void RemoteRun::check_rows() const {
  for (size_t s = 0; s < links_.size(); ++s) {
    if (!links_.welcome(s).run_status.has_rows) continue;
    const bool checkpointed = run_status().checkpointed;
    throw StateLost(
        run_status().run, checkpointed,
        cat("rows on a device were lost with the process before this one",
            checkpointed ? ""
                         : ", and the servers write no checkpoints: give them --checkpoint-dir, and start "
                           "the whole job again"));
  }
}

// Returns the status of the shard from which this process goes on.  Usually it is the one that has applied the
// fewest steps, since the others recognise a push that they have applied.  A rank that was given up was missing
// in some steps anyway; it begins at the first step that is new to all shards.  Throws StateLost if the shards
// are further apart than the consistency of the job allows.
const RunStatus& RemoteRun::find_start(const Consistency& consistency, bool given_up) {
  std::vector<const RunStatus*> all;
  for (size_t s = 0; s < links_.size(); ++s) all.push_back(&links_.welcome(s).run_status);
  auto first = [&](const RunStatus* each) { return first_step(*each, consistency); };
  auto earlier = [&](const RunStatus* a, const RunStatus* b) { return first(a) < first(b); };
  const auto [least, most] = std::ranges::minmax_element(all, earlier);
  const bool late = (given_up && !consistency.async) || is_together(consistency);
  if (first(*most) - first(*least) > consistency.lead() + (late ? 2 : 1)) {
    throw StateLost(all[0]->run, all[0]->checkpointed,
                    cat("the servers stand at step ", first(*least), " and step ", first(*most),
                        " of this run: one was restarted; restart them all"));
  }
  const RunStatus& start = late ? **most : **least;
  auto same_data = [&start](const RunStatus* each) {
    return each->pass == start.pass && each->dealings == start.dealings;
  };
  if (given_up && consistency.async && !std::ranges::all_of(all, same_data)) {
    leave_run();
    throw ServersMoved("the other trainers are between two parts of their data: coming once more",
                       /*left=*/true);
  }
  return start;
}

// Returns true if this trainer is one of several that are ahead.  A step that one shard has applied is then held
// by all shards, from all trainers; a later step may not be applied until this process says so.
bool RemoteRun::is_together(const Consistency& consistency) const {
  return consistency.ahead > 0 && !consistency.async && group_.size() > 1;
}

// Returns the first step of this trainer that the shard does not hold; with several trainers that are ahead,
// the first step that the shard has not applied.
uint64_t RemoteRun::first_step(const RunStatus& status, const Consistency& consistency) const {
  return is_together(consistency) ? status.step - status.held : status.step;
}

// Makes the shards apply the steps before `start`, all of which they must hold.  Throws StateLost if a shard has
// lost some of them.
void RemoteRun::finish_held(uint64_t start) const {
  uint64_t least = start;
  for (size_t s = 0; s < links_.size(); ++s) {
    const RunStatus& each = links_.welcome(s).run_status;
    const uint64_t applied = each.step - each.held;
    least = std::min(least, applied);
    if (applied <= start && start <= each.step) continue;
    throw StateLost(each.run, run_status().checkpointed,
                    cat("a server has applied ", std::max(applied, start),
                        " steps of this run, another has lost all from step ", std::min(each.step, start),
                        " on: one was restarted; restart them all"));
  }
  pushes_.finish_held(least);
}

// Sends empty pushes for steps that others have applied without this rank and for which some shards still wait
// for it.  The pushes are marked as absent, so that they say nothing about this rank's data.
void RemoteRun::fill_steps() const {
  for (size_t s = 0; s < links_.size(); ++s) {
    for (uint64_t step = links_.welcome(s).run_status.step; step < pushes_.next_step(); ++step) {
      const PushHeader header{
          .step = step, .info = {0, position_.pass}, .ended = true, .asks = true, .absent = true};
      const auto done = std::make_shared<bool>(false);
      links_.request(s, Message::kPush, Payload(encode_push(header, 0, "")),
                     [done](const Frame&) { *done = true; });
      links_.wait_for_others([&done] { return *done; });
    }
  }
}

// The first shard alone deals data, and so is asked.
RankWork RemoteRun::ask_work() const {
  return decode_work(links_.call(0, Message::kWork, Payload()).body.bytes());
}

// Continues the strand of a lost trainer's data that the earlier process of this rank was training.  The first
// shard deals strands.  If it has dealt more often than the shard from which this process goes on, the earlier
// process had finished its strand; then this process first sends the steps from which the other shards learn of
// the dealing.
void RemoteRun::take_over_work(const RunStatus& start) {
  const RankWork work = ask_work();
  if (work.pass == start.pass && work.dealings == 0 && start.dealings == 0) return;
  position_.dealt = true;
  if (work.pass != start.pass || work.dealings != start.dealings) return;
  position_.strand = work.strand;
  position_.before_strand = static_cast<int64_t>(std::min(work.batches_before, start.pass_batches));
}

// Asks until a strand is dealt to this trainer, or the pass ends.  A trainer that returned after a dealing gets
// no strand of it, and asks again.
std::optional<DataStrand> RemoteRun::next_strand(int64_t pass) {
  if (!takes_rest_ || !run_status().deals || group_.size() == 1) return std::nullopt;
  while (pushes_.ask_for_rest(pass)) {
    const RankWork work = ask_work();
    if (work.strand || !work.some_left) return work.strand;
  }
  return std::nullopt;
}

Saver RemoteRun::elect_saver(SaveStage stage, const std::string& name) {
  const SaveRequest request{run_status().run, stage, name};
  Frame frame = links_.call(0, Message::kSaveLease, Payload(encode_save_request(request)));
  return decode_saver(frame.body.bytes());
}

// Ends the run.  If the run can go back to a checkpoint, no trainer ends before all are done, since the others
// would need it if they had to go back.
void RemoteRun::end_run() {
  pushes_.finish();
  if (run_status().checkpointed) return group_.gather_at_end();
  const auto waiting = std::make_shared<size_t>(links_.size());  // answers may come after `wait` has thrown
  for (size_t s = 0; s < links_.size(); ++s) {
    links_.request(s, Message::kEndRun, Payload(), [waiting](const Frame&) { --*waiting; });
  }
  links_.wait([&] { return *waiting == 0; });
}

// Waits for half a second at most, since this process is about to end.  `waiting` is shared with the
// answers, which may come after this call has given up.
void RemoteRun::leave_run() {
  constexpr double kLongest = 0.5;
  const auto waiting = std::make_shared<size_t>(links_.size());
  try {
    for (size_t s = 0; s < links_.size(); ++s) {
      links_.request(s, Message::kLeaveRun, Payload(), [waiting](const Frame&) { --*waiting; });
    }
    links_.wait([&] { return *waiting == 0; }, kLongest);
  } catch (const Error&) {
    return;  // the servers cannot be reached, and find out by themselves
  }
}

}  // namespace ps
