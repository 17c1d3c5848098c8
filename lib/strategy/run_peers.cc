#include "strategy/run_peers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/wait_stopped.h"

namespace ps {

namespace {

// Returns true if all trainers are in the same run.  A trainer may come from another run, which servers have
// ended, or have begun meanwhile.
bool all_in_one_run(Communicator& communicator, uint64_t run) {
  const std::vector<std::string> runs = communicator.gather(std::to_string(run));
  return std::ranges::all_of(runs, [&](const std::string& each) { return each == runs[0]; });
}

void pause(Loop& loop) {
  loop.run_until([] { return false; }, add_time(loop.now(), std::chrono::milliseconds(50)));
}

}  // namespace

// A trainer joins the servers' run first.  So all trainers that meet know their run, and the trainers of a
// run without pushes have not met yet.  A meeting is tried again and again until all are in one run, or until
// three quarters of the timeout are over.
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
