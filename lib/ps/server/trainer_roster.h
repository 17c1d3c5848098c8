// TrainerRoster: who takes part in a shard's run: trainers that come, go, return, and do not come back.  Used
// by Shard, and read by its StepClock.
#ifndef PS_PS_SERVER_TRAINER_ROSTER_H_
#define PS_PS_SERVER_TRAINER_ROSTER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "net/loop.h"

namespace ps {

// A trainer as it introduces itself.
struct Member {
  int rank = 0;
  int trainers = 1;
  uint64_t generation = 0;  // of its process
  bool known = false;       // says that this shard has welcomed it before
  uint64_t run = 0;         // that the job's first shard told it; 0: this is the first shard
  bool going = false;       // some trainer has been welcomed by all shards of that run
};

// The rule for a trainer without a connection, when the others wait for it.
struct TrainerLoss {
  Duration timeout = std::chrono::seconds(60);  // how long they wait
  bool go_on = false;                           // then they go on without it; else the run ends
};

// A rank of the run, and the process that has it.
struct RosterEntry {
  int rank = 0;
  uint64_t generation = 0;  // 0: not there yet
  int connections = 0;
  Time gone_since{};            // without a connection
  bool ended = false;           // has done all of the run
  bool given_up = false;        // the others go on without it
  bool was_given_up = false;    // when this process came
  std::optional<Time> left_at;  // it has said that it ends before the run does
};

// One owner thread.
class TrainerRoster {
 public:
  explicit TrainerRoster(const TrainerLoss& loss) : loss_(loss) {}

  uint64_t run() const { return run_; }  // 0: none has begun
  std::span<RosterEntry> trainers() { return trainers_; }
  std::span<const RosterEntry> trainers() const { return trainers_; }
  size_t size() const { return trainers_.size(); }

  // Throw kStateLost when the run has no such rank, or the member takes no part in the run.
  RosterEntry& at(int rank);
  const RosterEntry& at(int rank) const;
  void check(const Member& member) const;

  // The others go on without this rank of the run.
  bool is_given_up(int rank) const { return trainers_[static_cast<size_t>(rank)].given_up; }

  // The process has its rank already.
  bool has(const Member& member) const;

  // The member begins another run.  The job's first shard judges that: a rank returns that has ended the last
  // run, or trainers of another number come, and none of the last run has a connection, or none has had one
  // for the timeout; or the run is stalled.  The other shards begin with those that it sends.
  bool begins_run(const Member& member, Time now) const;

  // Throws unless the process, which is not here, may begin a run or take its rank over: kUnavailable while
  // another process has the rank or the last run goes on, kStateLost when the member's run is no more, kFenced
  // when another has taken its rank over, kUsage when the trainers disagree on their number, or are too many.
  void check_can_begin(const Member& member, Time now) const;
  void check_can_take_over(const Member& member) const;

  void begin_run(uint64_t run, int num_trainers, Time now);
  void take_over(RosterEntry& trainer, uint64_t generation);

  // Another connection of a member that has its rank.  Throws kFenced when the others have gone on without it.
  void connect(int rank);
  void disconnect(const Member& member, Time now);
  bool anybody_connected() const;

  // Returns true when nobody has had a connection for as long as a trainer would have been waited for:
  // whoever comes begins anew.
  bool is_left(Time now) const;

  // Returns true when some rank has not come at all for as long, and the others have not gone on without it: nothing was
  // trained in this run, and trainers of another number may begin theirs.
  bool is_stalled(Time now) const;

  // The process ends before its run does: the others need not wait for it.
  void leave_run(int rank, Time now) { at(rank).left_at = now; }

  // The ranks that have no connection, and are waited for.
  std::vector<int> absent() const;

  // The ranks that the others have waited for long enough; those that have left the run, for a second: it may
  // be that all are ended, and hear of it one after the other.
  std::vector<int> missing(Time now) const;
  const TrainerLoss& loss() const { return loss_; }

 private:
  const TrainerLoss loss_;
  uint64_t run_ = 0;                   // known by the generation of whoever began it at the first shard
  Time begun_at_{};                    // of the run
  std::vector<RosterEntry> trainers_;  // by rank
};

}  // namespace ps

#endif  // PS_PS_SERVER_TRAINER_ROSTER_H_
