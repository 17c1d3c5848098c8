#include "ps/server/run_gatherings.h"

#include <algorithm>
#include <utility>

namespace ps {

// The bytes of a rank are noted for the log when they are whole, in one piece; a replay gives them at once.
void RunGatherings::give(int rank, const GatherRequest& request, ReplyPtr& reply) {
  if (present_.answer_former(request, reply)) return;
  if (!present_.has_given(rank)) {
    if (auto whole = present_.add_slice(rank, request, held_)) {
      changes_.note(ShardEvent::kGather, rank,
                    [&] { return event_of_numbers(request.number).append(whole->bytes); });
      present_.give(rank, std::move(whole->bytes), std::move(whole->held));
    }
  }
  present_.add_reply(rank, request, std::move(reply));
  finish_if_complete();
}

void RunGatherings::finish_if_complete() {
  finish(/*end_confirmed=*/false);
}

// Asks all trainers that were not given up; the others give nothing.
bool RunGatherings::all_have(bool (Gathering::*given)(int rank) const) const {
  return std::ranges::all_of(std::as_const(roster_).trainers(), [&](const RosterEntry& trainer) {
    return trainer.given_up || (present_.*given)(trainer.rank);
  });
}

// Finishes the present gathering if all have given.  If it is the last of the run, and its end needs a
// confirmation, finished_ is told instead, and the trainers wait: confirm_end calls this again.
void RunGatherings::finish(bool end_confirmed) {
  if (present_.is_empty() || !all_have(&Gathering::has_given)) return;
  if (all_have(&Gathering::has_given_end)) {
    if (finished_ && !end_confirmed) return finished_(clock_.pass());
    for (RosterEntry& trainer : roster_.trainers()) trainer.ended = true;
  }
  present_.finish(roster_.size());
}

void RunGatherings::on_finished(std::function<void(uint64_t)> finished) {
  finished_ = std::move(finished);
  finish_if_complete();
}

void RunGatherings::confirm_end() {
  changes_.note(ShardEvent::kEndCounts, 0, empty_event);
  finish(/*end_confirmed=*/true);
}

}  // namespace ps
