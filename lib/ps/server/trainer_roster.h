// TrainerRoster: the list of the trainers of a shard's run.  It decides who may join, and which trainers are
// gone and given up.  Used by Shard, and read by its StepClock.
#ifndef PS_PS_SERVER_TRAINER_ROSTER_H_
#define PS_PS_SERVER_TRAINER_ROSTER_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "net/loop.h"

namespace ps {

// A trainer as it introduces itself.
struct Member {
  int rank = 0;
  int trainers = 1;         // number of trainers with which the run begins
  uint64_t generation = 0;  // generation of the trainer's process
  bool known = false;       // the trainer says that this shard has welcomed it before
  // The number of the run, which the job's first shard has given it. 0: this shard is the first.
  uint64_t run = 0;
  bool going = false;    // some trainer has been welcomed by all shards of that run
  int max_trainers = 0;  // number of ranks of the run; 0: as many as trainers
  int passes = 0;        // number of passes that it trains; 0: not known

  int ranks() const { return std::max(trainers, max_trainers); }
  bool joins() const { return rank >= trainers; }  // the run begins without this rank
};

// The rule for a trainer that has no connection while the other trainers wait for it.
struct TrainerLoss {
  Duration timeout = std::chrono::seconds(60);  // time for which the other trainers wait
  bool go_on = false;  // after the timeout the others go on without it; false: the run ends
};

// A rank of the run, and the process that has it.
struct RosterEntry {
  int rank = 0;
  uint64_t generation = 0;  // 0: no process has this rank yet
  int connections = 0;
  Time gone_since{};            // it has had no connection since then
  bool ended = false;           // it has done all of the run
  bool given_up = false;        // the others go on without it
  bool was_given_up = false;    // the rank was given up when this process came
  std::optional<Time> left_at;  // it has said that it ends before the run does
};

// Throws kUnavailable, since there is no run yet that this rank could join.
[[noreturn]] void fail_to_join(int rank, int num_trainers);

// One owner thread.
class TrainerRoster {
 public:
  explicit TrainerRoster(const TrainerLoss& loss) : loss_(loss) {}

  uint64_t run() const { return run_; }  // 0: none has begun
  std::span<RosterEntry> trainers() { return trainers_; }
  std::span<const RosterEntry> trainers() const { return trainers_; }
  size_t size() const { return trainers_.size(); }

  // Throw kStateLost if the run has no such rank, or if the member takes no part in the run.
  RosterEntry& at(int rank);
  const RosterEntry& at(int rank) const;
  void check(const Member& member) const;

  // Returns true if this rank was given up, so that the others go on without it.
  bool is_given_up(int rank) const { return trainers_[static_cast<size_t>(rank)].given_up; }

  // Returns true if this process already has its rank.
  bool has(const Member& member) const;

  // Returns true if the member begins another run.  Shards other than the first begin the run whose number
  // the member tells.  The first shard decides: another run begins if a rank returns that has ended the last
  // run; if trainers of another number come, and no trainer of the last run has a connection or that run is
  // stalled; or, in jobs that do not go on without lost trainers, if no trainer has had a connection for the
  // timeout.
  bool begins_run(const Member& member, Time now) const;

  // Throw unless the process, which is not here, may begin a run or take its rank over. kUnavailable: another
  // process has the rank, the last run goes on, or there is no run that the member could join. kStateLost:
  // the member's run does not exist any more. kFenced: another process has taken its rank over. kUsage: the
  // trainers disagree on their number, are too many, or some are to join a run that ends with the first that
  // is lost.
  void check_can_begin(const Member& member, Time now) const;
  void check_can_take_over(const Member& member) const;

  // Ranks from `num_trainers` on count as given up until a process comes for one of them.
  void begin_run(uint64_t run, int num_trainers, int num_ranks, Time now);
  void take_over(RosterEntry& trainer, uint64_t generation);

  // Adds a connection of a member that has its rank.  Throws kFenced if the others have gone on without it.
  void connect(int rank);
  void disconnect(const Member& member, Time now);
  bool anybody_connected() const;

  // Returns true if no trainer has had a connection for the time that a lost trainer is waited for: a process
  // that comes then begins anew.
  bool is_left(Time now) const;

  // Returns true if some rank has not come at all for that time, and the others have not gone on without it.
  // Nothing was trained in this run then, and trainers of another number may begin theirs.
  bool is_stalled(Time now) const;

  // Returns true if some trainer has ended the run, and so have all others that were not given up.
  bool has_ended() const;

  // To be called when the process says that it ends before its run does; it is then not waited for.
  void leave_run(int rank, Time now) { at(rank).left_at = now; }

  // Returns the ranks that have no connection, and for which the others wait.
  std::vector<int> absent() const;

  // Returns the ranks without which the others go on.
  std::vector<int> given_up() const;

  // Returns the ranks whose timeout is over.  For a rank whose process has left the run, the timeout is one
  // second: when all trainers are being ended, they leave one after the other.
  std::vector<int> missing(Time now) const;
  const TrainerLoss& loss() const { return loss_; }

 private:
  const TrainerLoss loss_;
  uint64_t run_ = 0;  // the generation of the process that began it at the first shard; 0: none
  Time begun_at_{};   // when the run began
  std::vector<RosterEntry> trainers_;  // by rank
};

}  // namespace ps

#endif  // PS_PS_SERVER_TRAINER_ROSTER_H_
