// RemoteCheckpoints: asks the servers for checkpoints, and copies these.  Used by RemoteRun.
#ifndef PS_PS_CLIENT_REMOTE_CHECKPOINTS_H_
#define PS_PS_CLIENT_REMOTE_CHECKPOINTS_H_

#include <functional>
#include <optional>
#include <string>

#include "ps/client/checkpoint_copier.h"
#include "ps/client/remote_pushes.h"
#include "ps/client/shard_links.h"
#include "ps/client/trainer_state_link.h"
#include "store/run_control.h"

namespace ps {

// One owner thread.
class RemoteCheckpoints final : public ServerCheckpoints {
 public:
  // All arguments outlive this.
  RemoteCheckpoints(ShardLinks& links, RemotePushes& pushes, TrainerStateLink& states)
      : links_(links), pushes_(pushes), states_(states), copier_(links) {}

  void on_checkpoint(std::function<void(std::string& out)> save) override {
    states_.on_checkpoint(std::move(save));
  }
  bool ask(int64_t pass, std::function<void(const AskedCheckpoint&)> done) override;
  int64_t begun_pass() const override { return gives_files() ? pushes_.checkpoint_pass() : -1; }
  void copy(const AskedCheckpoint& checkpoint, const std::string& directory,
            std::function<void(const std::optional<Error>&)> done) override {
    copier_.copy(checkpoint, directory, std::move(done));
  }
  void wait(const std::function<bool()>& done, double seconds) override { links_.wait(done, seconds); }

 private:
  bool gives_files() const { return links_.welcome(0).run_status.gives_shards; }

  ShardLinks& links_;
  RemotePushes& pushes_;
  TrainerStateLink& states_;
  CheckpointCopier copier_;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_CHECKPOINTS_H_
