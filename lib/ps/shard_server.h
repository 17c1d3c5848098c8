// ShardServer: one shard on one port.  Used by ps-serve, a thread each, and by tests on a simulated network.
#ifndef PS_PS_SHARD_SERVER_H_
#define PS_PS_SHARD_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/server.h"
#include "ps/checkpoint_requests.h"
#include "ps/hello.h"
#include "ps/save_lease.h"
#include "ps/shard.h"
#include "ps/shard_checkpoint.h"

namespace ps {

// The job that servers and trainers must agree on.
struct ServedJob {
  Json fingerprint;  // what must be equal
  std::function<std::vector<ParameterSpec>(const DataSchema&)> parameters;
  OptimizerPlan optimizers;
  Consistency consistency;
  TrainerLoss trainer_loss;
  Duration request_timeout = std::chrono::seconds(15);  // a peer without a sign of life for this long is dead
  CheckpointSettings checkpoints = {};
};

// Everything runs on the transport's loop.  The shard is made when the first trainer says what its data look
// like.
class ShardServer {
 public:
  // Listens from now on; throws as Server does.  `job` must outlive this.
  ShardServer(Transport& transport, const Address& address, const ServedJob& job,
              const ShardLimits& limits = {});
  ~ShardServer();

  const Address& address() const { return server_->address(); }

  // What describe answers.  To be set before the loop runs.
  void set_ports(const ServerPorts& ports) { description_ = ServerPorts::spec().to_json(ports).dump(); }

  // Accepts nobody any more, fails what waits, and closes every connection: num_connections() comes to 0.
  void drain();

  // Tells `board`, which must outlive this, of the shard's status several times a second.  To be called
  // before the loop runs.
  void publish_to(StatusBoard& board);

  // Has a checkpoint begun after one of the next steps, if this is the job's first shard; else says in the
  // log why not.
  void ask_checkpoint();

  // Whether a checkpoint is not done.
  bool writes_checkpoint() const { return checkpoint_ && checkpoint_->busy(); }

  size_t num_connections() const { return server_->num_connections(); }
  const NetCounters& net_counters() const { return server_->counters(); }
  const Shard* shard() const { return shard_.get(); }  // null until a trainer came

 private:
  friend class ShardSession;

  // Throws kUsage unless the hello is of this job, and makes the shard.
  void admit(const Hello& hello);
  void check_job(const Hello& hello) const;
  bool has_lost_run(const Hello& hello) const;
  void make_shard(const Hello& hello);
  void check_can_checkpoint(std::span<const ParameterSpec> specs) const;
  void drop_shard();
  void restore(const Hello& hello);
  std::unique_ptr<CheckpointReader> open_checkpoint(const Hello& hello);
  void check_checkpoint(const CheckpointReader& reader) const;
  Standing join(const Member& member);
  void watch_cuts();
  bool decides_cuts() const;
  void ask_checkpoint(ReplyPtr reply);
  bool cut_wanted(uint64_t step);
  void note_finished(uint64_t passes);
  void read_finished();
  void check_trainers();
  void publish();

  Loop& loop_;
  const ServedJob& job_;
  const ShardLimits limits_;
  std::string description_;
  Json schema_, place_;  // of the shard
  std::string cpu_;      // of the trainer that came first
  std::unique_ptr<Shard> shard_;
  SaveLease save_lease_;

  std::unique_ptr<ShardCheckpoint> checkpoint_;  // null: the job has none
  CheckpointRequests checkpoint_requests_;
  bool recovers_ = false;        // the shard was made for a run that goes on from a checkpoint, or anew
  std::string restored_folder_;  // of that checkpoint; empty: there was none
  uint64_t finished_ = 0;        // passes of a run of which everything is done
  Time last_cut_{};

  Timer check_timer_;

  StatusBoard* board_ = nullptr;
  Timer publish_timer_;
  RequestSeconds pull_seconds_, push_seconds_;
  RateMeter pull_rate_, push_rate_;

  std::unique_ptr<Server> server_;
};

}  // namespace ps

#endif  // PS_PS_SHARD_SERVER_H_
