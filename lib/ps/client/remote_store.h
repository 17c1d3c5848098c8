// RemoteStore: the parameters on servers.  A batch's rows are pulled from the shards that have them, and used
// where the answers put them; gradients are pushed to the same shards, which apply them.  Used by strategies
// that have servers.
#ifndef PS_PS_CLIENT_REMOTE_STORE_H_
#define PS_PS_CLIENT_REMOTE_STORE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codec/row_types.h"
#include "ps/client/remote_checkpoints.h"
#include "ps/client/remote_group.h"
#include "ps/client/remote_model.h"
#include "ps/client/remote_pulls.h"
#include "ps/client/remote_pushes.h"
#include "ps/client/remote_run.h"
#include "ps/client/residuals.h"
#include "ps/client/shard_links.h"
#include "ps/client/trainer_state_link.h"
#include "ps/wire/consistency.h"
#include "store/parameter_store.h"

namespace ps {

// One owner thread, which also drives the network, while it waits.  All calls throw kUnavailable when a server
// or another trainer is gone for longer than the job allows.
//
// push returns when the gradients are on their way; the next pull waits for the steps that it needs.  A process
// that resumes a rank begins at the position of that rank.
class RemoteStore final : public ParameterStore {
 public:
  // Throws kUsage if the servers have another job, and as RemoteRun::resume does.  `own`, which may be null,
  // outlives this.  Its state is stored in the servers' checkpoints together with the pushed steps, and is
  // restored here.
  RemoteStore(Transport& transport, const RemoteOptions& options, const Consistency& consistency,
              std::vector<ParameterSpec> specs, const RowTypes& types = {}, TrainerState* own = nullptr);

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  PullTicket begin_pull(std::span<const KeyPlan> plans) override;
  void finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                   std::vector<ParameterView<float>>& views) override;

  // For stores that keep copies (LocalSgdStore). pull pulls a scope of parameters, and no push follows.
  // prepare_push sets views with gradient buffers, which the caller fills and pushes, without a pull.
  void pull(std::span<const KeyPlan> plans, PullMode mode, PullScope scope,
            std::vector<ParameterView<float>>& views);
  void prepare_push(std::span<const KeyPlan> plans, PullScope scope,
                    std::vector<ParameterView<float>>& views) {
    pulls_.prepare(plans, scope, views);
  }

  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  void end_pass(int64_t pass) override;

  // Waits until done() is true.  Throws the errors of the connections to the servers.
  void wait_for(const std::function<bool()>& done);

  // Waits until all pushes are applied.
  void finish_pushes();

  // For a store that has the dense parameters itself (HybridStore), as in RemotePushes.
  void push_without_data(int64_t pass);
  bool finish_pass_step();
  bool next_begins_checkpoint();
  std::vector<double> wait_for_squares();

  // Return the parts of this store, for stores in front of it that keep copies of rows (AheadStore) or hold
  // parameters themselves (HybridStore).
  ShardLinks& links() { return links_; }
  RemotePushes& pushes() { return pushes_; }
  const RemotePushes& pushes() const { return pushes_; }
  RemoteModel& model() { return model_; }

  // Handles the messages that have come, without waiting for more.
  void poll();

  // Throws StateLost when this process takes no part in the servers' run any more.
  void check_run() { links_.call(0, Message::kAbsent, Payload()); }

  // Returns true if other trainers had trained or met in the run before this process came.
  bool was_going() const { return links_.welcome(0).run_status.going; }

  // Returns true if a run that has lost state can go back to a checkpoint.
  bool can_go_back() const { return links_.welcome(0).run_status.checkpointed; }

  // Throws the error that a waiting call would throw, if there is one already.
  void check_links() {
    links_.wait([] { return true; });
  }

  StoreTimes times() const override { return {waited_seconds_, step_seconds_ - waited_seconds_}; }
  bool may_wait() const override { return true; }
  KeyOrder key_order() const override { return KeyOrder::kAscending; }
  double learning_rate() const override { return pushes_.learning_rate(); }

  std::vector<uint64_t> keys(int parameter) override { return model_.keys(parameter); }
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override {
    model_.read_rows(parameter, keys, weights);
  }
  void read_all(int parameter, float* weights) override { model_.read_all(parameter, weights); }
  RowReport row_report(int parameter) override { return model_.row_report(parameter); }
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override {
    model_.load_rows(parameter, keys, weights);
  }
  void load_all(int parameter, const float* weights) override { model_.load_all(parameter, weights); }

  RemoteGroup& group() { return group_; }
  RemoteRun& run() { return run_; }
  RemoteCheckpoints& checkpoints() { return checkpoints_; }

  // Returns the kernel level of the trainer that came first to the servers.
  const std::string& first_cpu() const { return links_.welcome(0).cpu; }

  // Returns the number of this trainer's gradients that came too late, each counted once for each shard.
  int64_t pushes_dropped() const { return pushes_.dropped(); }

  // Returns the number of bytes that this process has sent to servers.
  uint64_t bytes_sent() const { return links_.bytes_sent(); }

  // Returns the number of rows whose residuals were dropped because of the memory limit.
  uint64_t errors_dropped() const { return residuals_.dropped(); }

 private:
  class StepTimer;

  const std::vector<ParameterSpec> specs_;
  const Consistency consistency_;
  const PullScope train_scope_, read_scope_;  // scopes of pulls
  ShardLinks links_;
  Residuals residuals_;
  TrainerStateLink states_;
  RemotePulls pulls_;
  RemotePushes pushes_;
  RemoteModel model_;
  RemoteGroup group_;
  RemoteCheckpoints checkpoints_;
  RemoteRun run_;
  double step_seconds_ = 0, waited_seconds_ = 0;  // the results of times(): in all calls, and waiting in them
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_STORE_H_
