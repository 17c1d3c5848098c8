#include "strategy/run_peers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/wait_stopped.h"

namespace ps {

namespace {

// Trainers may come from another run, which servers have ended, or have begun meanwhile.
bool all_in_one_run(Communicator& communicator, uint64_t run) {
  const std::vector<std::string> runs = communicator.gather(std::to_string(run));
  return std::ranges::all_of(runs, [&](const std::string& each) { return each == runs[0]; });
}

void pause(Loop& loop) {
  loop.run_until([] { return false; }, add_time(loop.now(), std::chrono::milliseconds(50)));
}

}  // namespace

// A trainer joins the servers' run first: then all that meet know in which run they are, and a run in which nobody has
// pushed yet is one whose trainers have not met.
std::unique_ptr<Communicator> meet_in_run(RemoteStore& remote, Loop& loop, Duration timeout,
                                          const MeetPeers& meet) {
  if (remote.was_going()) {
    remote.links().lose_run(
        "the other trainers of this run have met before this process came, and cannot let it in");
  }
  const Time deadline = add_time(loop.now(), timeout), last_try = add_time(loop.now(), timeout / 4 * 3);
  for (;; pause(loop)) {
    remote.check_run();
    try {
      std::unique_ptr<Communicator> met = meet(deadline - loop.now());
      if (all_in_one_run(*met, remote.run().id())) return met;
    } catch (const WaitStopped&) {
      throw;
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable || loop.now() >= last_try) throw;
    }
    if (loop.now() >= last_try)
      fail(Code::kUnavailable, "the trainers take part in different runs of the servers");
  }
}

}  // namespace ps
