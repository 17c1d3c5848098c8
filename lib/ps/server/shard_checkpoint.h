// ShardCheckpoint: snapshots and writes one shard's part of checkpoints while the shard goes on.  It sweeps
// snapshots of the tables between requests, and writes on a thread of its own.  At the job's first shard it
// also joins the files of all shards to one checkpoint.  Begun by CheckpointDriver, which learns of its end
// as CheckpointEvents.
#ifndef PS_PS_SERVER_SHARD_CHECKPOINT_H_
#define PS_PS_SERVER_SHARD_CHECKPOINT_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/background_writer.h"
#include "base/error.h"
#include "base/log.h"
#include "checkpoint/write_rate.h"
#include "config/json.h"
#include "net/loop.h"
#include "ps/server/checkpoint_shard_service.h"
#include "ps/server/checkpoint_shards.h"
#include "ps/server/shard_tables.h"
#include "ps/status/shard_status.h"
#include "store/run_control.h"

namespace ps {

// The settings with which the shards of a server write checkpoints; all shards have the same.
struct CheckpointSettings {
  std::string directory;  // the same for all servers; empty: no checkpoints
  // Without a directory: this server's own folder, for shards from which trainers make models.
  std::string scratch;
  bool resume = false;  // every run that begins goes on from the newest checkpoint
  int64_t steps = 0;    // steps between two checkpoints; 0: not by steps
  Duration period{};    // time between two checkpoints; 0: not by time
  int keep = 2;         // number of checkpoints that are kept
  int full_every = 1;   // one checkpoint in so many holds all rows
  int zstd_level = 1;
  uint64_t memory_bytes = uint64_t{512} << 20;  // of a shard: rows that are kept aside, or wait to be written
  std::shared_ptr<WriteRate> rate = nullptr;    // null: no limit
  Json job = {};                                // settings that must be equal to go on
  std::map<std::string, std::string> states = {};  // other states of the job in a checkpoint
  FileSystem* files = &system_files();
  Log* log = nullptr;      // null: no messages
  bool durable = false;    // changes between two checkpoints are logged before they are answered
  bool own_thread = true;  // false: all is written in the loop, for simulated time
};

// Receives the end of a checkpoint, and of this shard's files of it.  Called on the loop's thread.
class CheckpointEvents {
 public:
  virtual ~CheckpointEvents() = default;

  // This shard's files and their manifest are written, or the answer says why they will not be.
  virtual void shard_ended(const CheckpointStep& checkpoint, const CheckpointShardAnswer& answer) = 0;

  // At the first shard: the checkpoint counts, or has failed.  If each server has a folder of its own: the
  // first shard's files are written.
  virtual void checkpoint_ended(const AskedCheckpoint& answer) = 0;
};

// Everything runs on the loop's thread.  All arguments outlive it.
class ShardCheckpoint final : private SnapshotTarget {
 public:
  ShardCheckpoint(Loop& loop, const CheckpointSettings& settings, const ShardPlace& place,
                  ShardTables& tables, CheckpointEvents& events);
  ~ShardCheckpoint() override;

  // Begins a checkpoint of the tables and the states as they are now.  A checkpoint that is not done is given
  // up.  The new one may hold only the rows that have changed since an earlier one, unless it is `full`.
  // Files that an earlier process of this shard has written are not written again.
  void begin(const CheckpointStep& checkpoint, std::map<std::string, std::string> states, bool full,
             SharedStates shared = {});

  // For a shard that continues the work of another process.
  void set_increments(const Increments& increments) { increments_ = increments; }
  const Increments& increments() const { return increments_; }

  // Returns the folders in which the files of a checkpoint are, or will be once they are moved.
  std::vector<std::string> folders(const CheckpointStep& checkpoint) const;

  // With a log, the shard's files are not complete before this call.  It says that the log of the steps after
  // the checkpoint is on the disk, for a process that takes this shard over when the checkpoint counts.
  void note_logged(const CheckpointStep& checkpoint) { logged_ = logged_ || checkpoint == checkpoint_; }

  // Returns true until the shard's files are written; at the first shard, until the checkpoint counts or has
  // failed.
  bool busy() const { return phase_ != Phase::kIdle; }

  // Returns true while it writes its files of the checkpoint at this step.
  bool is_writing(uint64_t step) const { return busy() && static_cast<uint64_t>(checkpoint_.step) == step; }

  const CheckpointCounters& counters() const { return counters_; }

  // Returns the error of the last checkpoint, if that has failed.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  enum class Phase { kIdle, kSweeping, kWriting, kGathering, kCommitting };

  struct Writing;

  void add_rows(const TableLayout& layout, uint32_t partition, SnapshotRows&& rows) override;
  void add_dense(const TableLayout& layout, const BlockCyclicRows& deal, std::vector<float> floats) override;

  const std::string& directory() const;
  std::optional<int64_t> choose_base(const CheckpointStep& checkpoint, bool full);
  bool adopt_written();
  bool commits() const { return place_.dense == 0 && !settings_.directory.empty(); }
  void work();
  void sweep();
  bool sweep_some();
  void give_up_sweep(const Error& error);
  void gather();
  void finish_writing();
  void commit();
  void prune(const CheckpointStep& checkpoint) const;
  void end_committed();
  void end_failed(const Error& error);

  Loop& loop_;
  const CheckpointSettings& settings_;
  const ShardPlace place_;
  ShardTables& tables_;
  CheckpointEvents& events_;
  CheckpointCounters counters_;
  std::optional<Error> failure_;
  Timer timer_;

  Increments increments_;

  // The running checkpoint.
  Phase phase_ = Phase::kIdle;
  CheckpointStep checkpoint_;
  std::map<std::string, std::string> states_;
  SharedStates shared_states_;
  std::shared_ptr<Writing> writing_;
  Time begun_{}, gathering_since_{};
  bool logged_ = false;
  int slices_ = 0;              // slices of the sweep, counted while requests came
  uint64_t requests_seen_ = 0;  // requests that the tables had counted at the last sweep

  BackgroundWriter writer_;  // last member: its tasks end before the others are destroyed
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_CHECKPOINT_H_
