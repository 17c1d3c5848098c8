// ShardHost: makes a server's shard when the first trainer describes its data, or from a checkpoint or a log.
// It drops the shard when its run is lost, and joins it with its checkpoints and its log.  Used by
// ShardServer and its sessions.
#ifndef PS_PS_SERVER_SHARD_HOST_H_
#define PS_PS_SERVER_SHARD_HOST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "membership/server_save_records.h"
#include "net/loop.h"
#include "ps/server/checkpoint_driver.h"
#include "ps/server/deferred_requests.h"
#include "ps/server/finished_run.h"
#include "ps/server/log_driver.h"
#include "ps/server/reader_slots.h"
#include "ps/server/served_job.h"
#include "ps/server/shard.h"
#include "ps/status/shard_status.h"
#include "ps/wire/hello.h"

namespace ps {

// It does not handle connections.  Everything runs on the loop's thread.
class ShardHost {
 public:
  // `job` outlives this.  `on_failed` is called once, when the server cannot go on because its log cannot be
  // written or read.  Every hello is refused from then on.
  ShardHost(Loop& loop, const ServedJob& job, const ShardLimits& limits,
            std::function<void(const Error&)> on_failed);
  ~ShardHost();

  // Each hello goes through these functions in this order. check_job throws kUsage unless the hello is of
  // this job. has_finished returns true if the trainer's process, which was not here before, has nothing left
  // to do: it then needs neither a run nor the other shards. admit makes the shard, or throws kUsage unless
  // the hello is of the same data and servers as the shard.  A trainer's data and servers replace those of
  // the peer that came before, as long as no trainer has trained with them.  A reader's hello makes a shard
  // only if the server was told to go on from a checkpoint, so that there is something to read; else it
  // throws kUnavailable.
  void check_job(const Hello& hello) const;
  bool has_finished(const Hello& hello);
  void admit(const Hello& hello);

  // Return the answers to the hellos for which has_finished is true, and to those that were admitted.
  Welcome welcome_finished(const Hello& hello) const;
  Welcome welcome() const;
  RunStatus join(const Member& member);  // throws as Shard::join
  void leave(const Member& member);

  // Answers a trainer that would save a model.  A trainer that still is in an earlier run is not elected.
  Saver elect_saver(const Member& member, const SaveRequest& request);

  ReaderSlots& readers() { return readers_; }
  DeferredRequests& deferred() { return deferred_; }

  bool has_shard() const { return shard_ != nullptr; }
  Shard& shard() { return *shard_; }
  const Shard* shard_or_null() const { return shard_.get(); }
  CheckpointDriver& checkpoints() { return checkpoints_; }
  const CheckpointDriver& checkpoints() const { return checkpoints_; }
  LogDriver& log() { return log_; }
  Fence* fence() const { return job_.fence; }
  Time now() const { return loop_.now(); }

  // To be called now and then: looks for trainers that are missing, and for log segments that are not needed.
  void check();

  // Fails all waiting requests.
  void refuse_waiting(const Error& reason);

  // Fills in the fields of the shard's status that are known here.
  void describe(ShardStatus& status) const;

 private:
  bool has_lost_run(const Hello& hello) const;
  void check_has_run_of(const Hello& hello) const;
  void check_may_drop(const Hello& hello) const;
  bool gives_way(const Hello& hello) const;
  void new_shard(const Json& schema, const Json& place, const std::string& cpu);
  void make_first_shard(const Hello& hello);
  void make_shard(const Hello& hello);
  void drop_shard();
  void attach();
  void watch_end();
  void restore(const Hello& hello);
  void begin_checkpoint(uint64_t number, bool at_end);
  void end_run();

  void resume_log(const Hello& hello);
  void replay(PushLogReader& log, const CheckpointReader* checkpoint);
  bool restore_for_log(const CheckpointReader& checkpoint);
  void fail_for_good(const Error& error);

  Loop& loop_;
  const ServedJob& job_;
  const ShardLimits limits_;
  const std::function<void(const Error&)> on_failed_;

  ShardIdentity identity_;        // of the shard
  std::unique_ptr<Shard> shard_;  // null: none was made yet, or its run is lost
  RunOrigin origin_;              // origin of the shard's run
  ServerSaveRecords saves_;
  CheckpointDriver checkpoints_;
  LogDriver log_;
  bool log_looked_for_ = false;

  DeferredRequests deferred_;  // its requests hold memory of the shard
  ReaderSlots readers_;

  FinishedRun finished_;
  // Calls that are posted to the loop check through this that the object still exists.
  const std::shared_ptr<const bool> exists_ = std::make_shared<const bool>(true);
  int passes_asked_ = 0;  // the most passes that trainers of this run have asked for
  // Passes of a run that ends with the checkpoint that is being written; 0: no run ends.
  uint64_t ending_ = 0;
  std::optional<Error> failed_;  // the error for which every hello is refused
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_HOST_H_
