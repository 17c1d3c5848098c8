// ShardCheckpoint: writes a shard's part of checkpoints while the shard goes on: it sweeps snapshots of the
// tables between requests, and writes on a thread of its own.  The part of the job's first shard also makes
// one checkpoint of all parts.  Used by ShardServer.
#ifndef PS_PS_SERVER_SHARD_CHECKPOINT_H_
#define PS_PS_SERVER_SHARD_CHECKPOINT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/background_writer.h"
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

// How the shards of a server write checkpoints; the same for all of them.
struct CheckpointSettings {
  std::string directory;  // the same one of all servers; empty: no checkpoints
  std::string scratch;    // without a directory: this server's own, for parts that trainers make models of
  bool resume = false;    // whoever begins a run goes on from the newest one
  int64_t steps = 0;      // between two; 0: not by steps
  Duration period{};      // 0: not by time
  int keep = 2;
  int full_every = 1;  // so many checkpoints, one holds all rows
  int zstd_level = 1;
  uint64_t memory_bytes = uint64_t{512} << 20;     // of a shard: rows kept aside, or waiting to be written
  std::shared_ptr<WriteRate> rate = nullptr;       // null: no limit
  Json job = {};                                   // what must be equal to go on
  std::map<std::string, std::string> states = {};  // what else a checkpoint says of the job
  FileSystem* files = &system_files();
  Log* log = nullptr;      // null: nothing is said
  bool durable = false;    // what is applied between two is logged, before it is answered
  bool own_thread = true;  // else all is written in the loop, for simulated time
};

// Everything runs on the loop's thread.  What it is given outlives it.
class ShardCheckpoint final : private SnapshotTarget {
 public:
  ShardCheckpoint(Loop& loop, const CheckpointSettings& settings, const ShardPlace& place,
                  ShardTables& tables);
  ~ShardCheckpoint() override;

  // Begins a checkpoint of the tables as they are, and of the states.  One that is not done is given up.  It
  // may hold what has changed since an earlier one, unless it is to be `full`.  A part that is there already,
  // of the process before this one, is not written again.
  void begin(const CheckpointStep& cut, std::map<std::string, std::string> states, bool full,
             SharedStates shared = {});

  // For a shard that takes up what another process has begun.
  void set_increments(const Increments& increments) { increments_ = increments; }
  const Increments& increments() const { return increments_; }

  // `end` is called when a checkpoint counts, or has failed: of the first shard.  Where each server has a
  // folder of its own, when the first shard's part is written.
  void on_end(std::function<void(const AskedCheckpoint&)> end) { on_end_ = std::move(end); }

  // `end` is called when this shard's part is written, with what is in it; or with why it will not be.
  void on_part(std::function<void(const CheckpointStep&, const CheckpointShardAnswer&)> end) {
    on_part_ = std::move(end);
  }

  // Where the files of a cut are, or have been moved to.
  std::vector<std::string> folders(const CheckpointStep& cut) const;

  // With a log, a part is not whole before this is said of it: what follows the checkpoint is on the disk,
  // for who comes in place of this shard when the checkpoint counts.
  void note_logged(const CheckpointStep& cut) { logged_ = logged_ || cut == cut_; }

  // Until the part is written; of the first shard, until the checkpoint counts, or has failed.
  bool busy() const { return phase_ != Phase::kIdle; }

  // True while it writes its part of this checkpoint.
  bool is_writing(uint64_t step) const { return busy() && static_cast<uint64_t>(cut_.step) == step; }

  const CheckpointCounters& counters() const { return counters_; }

 private:
  enum class Phase { kIdle, kSweeping, kWriting, kGathering, kCommitting };

  struct RowSlice;

  void take_rows(const TableLayout& layout, uint32_t partition, SnapshotRows&& rows) override;
  void take_dense(const TableLayout& layout, const BlockCyclicRows& deal, std::vector<float> floats) override;

  const std::string& directory() const;
  std::optional<int64_t> choose_base(const CheckpointStep& cut, bool full);
  bool take_up_part();
  bool commits() const { return place_.dense == 0 && !settings_.directory.empty(); }
  void work();
  void sweep();
  bool sweep_some();
  void give_up_sweep(const Error& error);
  void gather();
  void finish_writing();
  void commit();
  void prune(const CheckpointStep& cut) const;
  void end_committed();
  void end_failed(const Error& error);

  Loop& loop_;
  const CheckpointSettings& settings_;
  const ShardPlace place_;
  ShardTables& tables_;
  CheckpointCounters counters_;
  Timer timer_;

  std::function<void(const AskedCheckpoint&)> on_end_ = [](const AskedCheckpoint&) {};
  std::function<void(const CheckpointStep&, const CheckpointShardAnswer&)> on_part_ =
      [](const CheckpointStep&, const CheckpointShardAnswer&) {};

  Increments increments_;

  // The running checkpoint.
  Phase phase_ = Phase::kIdle;
  CheckpointStep cut_;
  std::map<std::string, std::string> states_;
  SharedStates shared_states_;
  std::shared_ptr<RowSlice> part_;
  Time begun_{}, gathering_since_{};
  bool logged_ = false;
  int slices_ = 0;              // of the sweep, while requests came
  uint64_t requests_seen_ = 0;  // by the tables, when they were last swept

  BackgroundWriter writer_;  // the last: its tasks end first
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_CHECKPOINT_H_
