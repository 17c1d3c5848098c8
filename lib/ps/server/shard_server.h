// ShardServer: one shard on one port.  Used by ps-serve, a thread each, and by tests on a simulated network.
#ifndef PS_PS_SERVER_SHARD_SERVER_H_
#define PS_PS_SERVER_SHARD_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/spec.h"
#include "membership/fence.h"
#include "membership/save_lease.h"
#include "net/server.h"
#include "ps/log/push_log.h"
#include "ps/log/push_log_reader.h"
#include "ps/server/checkpoint_requests.h"
#include "ps/server/shard.h"
#include "ps/server/shard_checkpoint.h"
#include "ps/wire/hello.h"

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
  Fence* fence = nullptr;  // null: nobody takes a server's place
};

// Everything runs on the transport's loop.  The shard is made when the first trainer says what its data look
// like.
class ShardReplay;
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

  // `failed` is told when this server cannot go on: its log cannot be written, or not be read.  Everything is
  // refused from then on.  To be called before the loop runs.
  void on_failed(std::function<void(const Error&)> failed) { on_failed_ = std::move(failed); }

  // Whether a checkpoint is not done.
  bool writes_checkpoint() const { return has_directory() && checkpoint_ && checkpoint_->busy(); }

  size_t num_connections() const { return server_->num_connections(); }
  const NetCounters& net_counters() const { return server_->counters(); }
  const Shard* shard() const { return shard_.get(); }  // null until a trainer came

 private:
  friend class ShardSession;

  // The last checkpoint that was begun while a log was read, and the shard as it then was.
  struct ReplayedCut {
    CheckpointStep id;
    std::string image;
    Increments increments;
  };

  // Throws kUsage unless the hello is of this job, and makes the shard.
  void admit(const Hello& hello);
  void check_job(const Hello& hello) const;
  bool has_lost_run(const Hello& hello) const;
  void new_shard(const Json& schema, const Json& place, const std::string& cpu);
  void make_shard(const Hello& hello);
  bool has_directory() const { return !job_.checkpoints.directory.empty(); }
  bool can_checkpoint() const;
  void end_checkpoint(const AskedCheckpoint& end);
  void begin_checkpoint(uint64_t step, bool at_end);
  void drop_shard();
  void restore(const Hello& hello);
  std::unique_ptr<CheckpointReader> open_checkpoint(const Hello& hello);
  void check_checkpoint(const CheckpointReader& reader) const;
  RunStatus join(const Member& member);
  void watch_cuts();
  void watch_end();
  std::string log_folder() const;
  void check_log_is_new() const;
  void begin_log();
  void write_log(LogEnd end);
  void take_up_log(const Hello& hello);
  bool is_of_this_shard(const LogOwner& owner) const;
  std::unique_ptr<CheckpointReader> newest_checkpoint() const;
  void replay(PushLogReader& log, const CheckpointReader* checkpoint);
  bool restore_for_log(const CheckpointReader& checkpoint);
  void load_snapshot(const PushLogReader& log, ShardReplay& replay);
  void go_on_with_log(LogEnd end);
  void note_logged(const CheckpointStep& cut);
  void warn_of_damage(const Error& error) const;
  ReplyPtr when_synced(ReplyPtr reply);
  void end_for_good(const Error& error);
  bool is_first() const { return place_from_json(place_).dense == 0; }
  bool decides_cuts() const { return checkpoint_ && is_first(); }
  void ask_checkpoint(int64_t pass, ReplyPtr reply);
  void ask_part(uint64_t step, ReplyPtr reply);
  void look_for_part(uint64_t step);
  bool cut_wanted(uint64_t step);
  bool goes_back(const Hello& hello) const;
  bool has_finished(const Hello& hello);
  void end_run();
  void read_finished();
  void forget_finished();
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

  // Null: the job has none, and no models are made of the tables either.
  std::unique_ptr<ShardCheckpoint> checkpoint_;
  CheckpointRequests checkpoint_requests_;
  CheckpointShardService parts_;
  std::optional<uint64_t> cut_pass_;  // at the end of which the last checkpoint began; none: in its midst
  AskedCheckpoint last_end_;          // of that one, once it is done
  std::unique_ptr<PushLog> log_;      // null: there is none
  std::optional<ReplayedCut> replayed_cut_;
  bool log_looked_for_ = false;
  std::optional<CheckpointStep> restored_;  // what the shard began with
  std::optional<Error> failed_;             // for good
  std::function<void(const Error&)> on_failed_ = [](const Error&) {};
  Timer fail_timer_;
  bool recovers_ = false;        // the shard was made for a run that goes on from a checkpoint, or anew
  std::string restored_folder_;  // of that checkpoint; empty: there was none
  uint64_t finished_ = 0;        // passes of a run of which everything is done
  uint64_t ending_ = 0;          // passes of a run that ends with the checkpoint that is being written
  Time last_cut_{};

  Timer check_timer_;

  StatusBoard* board_ = nullptr;
  Timer publish_timer_;
  RequestSeconds pull_seconds_, push_seconds_;
  RateMeter pull_rate_, push_rate_;

  std::unique_ptr<Server> server_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_SERVER_H_
