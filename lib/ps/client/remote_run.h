// RemoteRun: the RunControl of a trainer with servers.  Used by RemoteStore.
#ifndef PS_PS_CLIENT_REMOTE_RUN_H_
#define PS_PS_CLIENT_REMOTE_RUN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ps/client/remote_group.h"
#include "ps/client/remote_pushes.h"
#include "ps/client/shard_links.h"
#include "ps/client/trainer_state_link.h"
#include "ps/wire/consistency.h"
#include "ps/wire/run_messages.h"
#include "store/run_control.h"

namespace ps {

// One owner thread.
class RemoteRun final : public RunControl {
 public:
  // All arguments outlive this; `checkpoints` are those of the servers.
  RemoteRun(ShardLinks& links, RemoteGroup& group, RemotePushes& pushes, ServerCheckpoints& checkpoints)
      : links_(links), group_(group), pushes_(pushes), checkpoints_(checkpoints) {}

  // Resumes the rank at the step that the shards have, and `states` from the chunks of the earlier process.
  // Throws StateLost if the earlier process has not left all the state that is needed to do the same as it
  // would have done.  Throws ServersMoved, after it has left the run, if an asynchronous rank returns while the
  // others are between two parts of their data.
  void resume(const Consistency& consistency, TrainerStateLink& states);

  uint64_t id() const override { return run_status().run; }
  RunPosition position() const override { return position_; }
  bool finished() const override { return links_.finished(); }
  int64_t finished_passes() const override { return static_cast<int64_t>(run_status().finished); }
  std::vector<std::string> restored_states() override { return std::exchange(figures_, {}); }
  Saver elect_saver(SaveStage stage, const std::string& name) override;
  ServerCheckpoints* checkpoints() override { return &checkpoints_; }
  void end_run() override;
  void leave_run() override;

  // Asks only if RunStatus says that the rest is dealt, and never after leave_rest, which stores call whose
  // steps have more than one batch.
  std::optional<DataStrand> next_strand(int64_t pass) override;
  void leave_rest() { takes_rest_ = false; }

  // Sets the position in batches, for a store whose pushes have more than one batch.
  void set_position(const RunPosition& position) { position_ = position; }

 private:
  const RunStatus& run_status() const { return links_.welcome(0).run_status; }
  void check_rows() const;
  const RunStatus& find_start(const Consistency& consistency, bool given_up);
  bool is_together(const Consistency& consistency) const;
  uint64_t first_step(const RunStatus& status, const Consistency& consistency) const;
  void finish_held(uint64_t start) const;
  void fill_steps() const;
  RankWork ask_work() const;
  void take_over_work(const RunStatus& start);

  ShardLinks& links_;
  RemoteGroup& group_;
  RemotePushes& pushes_;
  ServerCheckpoints& checkpoints_;
  bool takes_rest_ = true;
  RunPosition position_;              // the position at which this process began
  std::vector<std::string> figures_;  // figures of this rank at that position, or of several ranks
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_RUN_H_
