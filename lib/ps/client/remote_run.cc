// A remote store's part in the run: where it begins, what the trainers bring together, how the run ends.
#include <algorithm>

#include "base/error.h"
#include "membership/save_lease.h"
#include "ps/client/remote_store.h"
#include "ps/wire/checkpoint_messages.h"

namespace ps {

namespace {

RunPosition position_in(const RunStatus& run_status, bool pass_begun) {
  RunPosition position;
  position.batches = static_cast<int64_t>(run_status.batches);
  position.pass = static_cast<int64_t>(run_status.pass);
  position.pass_batches = static_cast<int64_t>(run_status.pass_batches);
  // Whether all was done that follows a pass is not known until somebody begins the next one.
  position.pass_ended = run_status.pass > 0 && !pass_begun;
  if (position.pass_ended) --position.pass;
  return position;
}

}  // namespace

// Begins at the first step that some shard has not applied: the others know its push.  A rank that was given
// up was missing in some steps anyway; it begins at the first that is new to all shards.
void RemoteStore::resume_run() {
  auto earlier = [](const RunStatus* a, const RunStatus* b) { return a->step < b->step; };
  std::vector<const RunStatus*> all;
  for (size_t s = 0; s < links_.size(); ++s) all.push_back(&links_.welcome(s).run_status);
  const auto [least, most] = std::ranges::minmax_element(all, earlier);
  const bool given_up = std::ranges::any_of(all, &RunStatus::was_given_up);
  const bool late = given_up && !consistency_.async;
  if ((*most)->step - (*least)->step > consistency_.lead() + (late ? 2 : 1)) {
    throw StateLost(all[0]->run, all[0]->checkpointed,
                    cat("the servers stand at step ", (*least)->step, " and step ", (*most)->step,
                        " of this run: one was restarted; restart them all"));
  }
  const RunStatus& start = late ? **most : **least;
  auto same_pass = [&start](const RunStatus* each) { return each->pass == start.pass; };
  if (given_up && consistency_.async && !std::ranges::all_of(all, same_pass)) {
    fail(Code::kUnavailable,
         "the trainers that went on without this one are between two passes; start it again");
  }
  const bool begun =
      std::ranges::any_of(all, [&](const RunStatus* each) { return same_pass(each) && each->pass_begun; });
  step_ = start.step;
  cut_at_ = all[0]->cut_at;
  position_ = position_in(start, begun);
  // Trainers begin with a gathering, and end every pass with one; the first shard sees to them.
  position_.resumed = all[0]->gathered > 0;
  if (position_.resumed) num_gathered_ = static_cast<uint64_t>(position_.pass) + 1;
  take_up_kept(given_up);
  if (late) fill_steps();
}

// Steps that some shards wait for, and others have applied without this rank.
void RemoteStore::fill_steps() {
  for (size_t s = 0; s < links_.size(); ++s) {
    for (uint64_t step = links_.welcome(s).run_status.step; step < step_; ++step) {
      PushHeader header{.step = step, .info = {0, position_.pass}, .ended = true};
      links_.request(s, Message::kPush, Payload(encode_push(header, 0, "")), [](const Frame&) {});
    }
  }
}

std::vector<std::string> RemoteStore::gather(std::string bytes) {
  return gather(kGathered, std::move(bytes));
}

std::vector<std::string> RemoteStore::gather(char marker, std::string bytes) {
  std::string body;
  put(body, num_gathered_++);
  body += marker;
  body += bytes;
  auto answer = std::make_shared<std::optional<Frame>>();  // may come when nobody waits any more
  links_.request(0, Message::kGather, Payload(std::move(body)),
                 [answer](Frame frame) { answer->emplace(std::move(frame)); });
  links_.wait_for_others([&answer] { return answer->has_value(); });
  std::vector<std::string> all = decode_gathered((*answer)->body.bytes());
  if (all.size() != static_cast<size_t>(trainers_)) fail(Code::kData, "gather: ", all.size(), " answers");
  auto here = [](const std::string& given) { return !given.empty(); };
  leader_ = static_cast<int>(std::ranges::find_if(all, here) - all.begin());
  for (std::string& given : all) given.erase(0, 1);
  return all;
}

Saver RemoteStore::elect_saver(SaveStage stage, const std::string& name) {
  const LeaseRequest request{links_.welcome(0).run_status.run, stage, name};
  Frame frame = links_.call(0, Message::kSaveLease, Payload(encode_lease_request(request)));
  return decode_saver(frame.body.bytes());
}

bool RemoteStore::ask_checkpoint(int64_t pass, std::function<void(const AskedCheckpoint&)> done) {
  if (!run_status().gives_parts) return false;
  auto on_answer = [done = std::move(done)](const Frame& frame) {
    done(decode_asked_checkpoint(frame.body.bytes()));
  };
  links_.request(0, Message::kCheckpoint, Payload(encode_checkpoint_request(pass)), std::move(on_answer));
  return true;
}

void RemoteStore::wait(const std::function<bool()>& done, double seconds) {
  links_.wait(done, seconds);
}

std::vector<std::string> RemoteStore::restored_states() {
  if (!run_status().checkpointed) return {};
  Frame frame = links_.call(0, Message::kTrainerStates, Payload());
  return decode_gathered(frame.body.bytes());
}

void RemoteStore::end_run() {
  wait_for_steps_before(step_);
  // Where a run may go back, nobody goes before all are done: else those who have to would miss him.
  if (run_status().checkpointed) return void(gather(kGatheredAtEnd, ""));
  size_t waiting = links_.size();
  for (size_t s = 0; s < links_.size(); ++s) {
    links_.request(s, Message::kEndRun, Payload(), [&waiting](const Frame&) { --waiting; });
  }
  links_.wait([&] { return waiting == 0; });
}

}  // namespace ps
