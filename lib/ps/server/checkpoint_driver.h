// CheckpointDriver: decides when a shard's checkpoints begin, and answers requests for checkpoints and for
// their files.  Used by ShardHost.
//
//   CheckpointDriver decides -> ShardCheckpoint snapshots -> CheckpointShardWriter writes, on a thread of its own
//
// The end of a checkpoint comes back as a call of CheckpointEvents.
#ifndef PS_PS_SERVER_CHECKPOINT_DRIVER_H_
#define PS_PS_SERVER_CHECKPOINT_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "membership/server_save_records.h"
#include "ps/server/checkpoint_requests.h"
#include "ps/server/checkpoint_shard_service.h"
#include "ps/server/served_job.h"
#include "ps/server/shard.h"
#include "ps/server/shard_checkpoint.h"

namespace ps {

// Lives as long as the server; shards come and go.  Everything runs on the loop's thread.
class CheckpointDriver final : private CheckpointEvents {
 public:
  // All arguments outlive this.  No checkpoint begins while `saves` says that a model is made from the last
  // one.
  CheckpointDriver(Loop& loop, const CheckpointSettings& settings, const ServerSaveRecords& saves);

  bool has_directory() const { return !settings_.directory.empty(); }

  // attach: checkpoints are of this shard from now on, unless the job has no checkpoints and makes no models
  // of tables.  Both arguments outlive the next detach. detach tells all waiting requests that there will be
  // no checkpoint.
  void attach(Shard& shard, const ShardIdentity& identity);
  void detach(const Error& reason);
  bool is_attached() const { return checkpoint_ != nullptr; }
  void refuse_waiting(const Error& reason) { shard_files_.refuse(reason); }

  // Returns true if the shard is the one that decides when checkpoints begin.
  bool decides() const { return is_attached() && identity_->is_first(); }
  bool wants(uint64_t number) const;

  // Begins a checkpoint of the shard as it is now.
  CheckpointStep begin(uint64_t number, bool at_end);
  bool busy() const { return checkpoint_ && checkpoint_->busy(); }

  // Returns the error of the last checkpoint, if that has failed.
  std::optional<Error> failure() const { return checkpoint_ ? checkpoint_->failure() : std::nullopt; }

  // `ended` is called when a checkpoint counts, or has failed.
  void on_end(std::function<void()> ended) { on_end_ = std::move(ended); }

  // For a shard with a log. set_last says that the shard is as it was when this checkpoint began, and that it
  // counts.
  const Increments& increments() const { return checkpoint_->increments(); }
  void set_increments(const Increments& increments) { checkpoint_->set_increments(increments); }
  void note_logged(const CheckpointStep& step) { checkpoint_->note_logged(step); }
  void set_last(std::optional<uint64_t> pass, const CheckpointStep& step);

  // Asks for a checkpoint after one of the next steps.  At a shard that does not decide, logs a warning that
  // says why none begins.
  void ask();

  // Asks for a checkpoint, and answers when it counts.  If `pass` is not -1, answers for the checkpoint at
  // the end of that pass.
  void ask(int64_t pass, ReplyPtr reply);

  // ask_shard_files answers with this shard's files of a checkpoint; read returns some bytes of one.
  void ask_shard_files(uint64_t step, ReplyPtr reply);
  std::string read(const CheckpointShardSlice& slice) const { return shard_files_.read(slice); }

  // Drops the requests of connections that are gone.
  void forget_unwanted() {
    requests_.forget_unwanted();
    shard_files_.forget_unwanted();
  }
  size_t num_waiting() const { return requests_.num_waiting() + shard_files_.num_waiting(); }

  // Returns null if no shard is attached.
  const CheckpointCounters* counters() const { return checkpoint_ ? &checkpoint_->counters() : nullptr; }

 private:
  void shard_ended(const CheckpointStep& checkpoint, const CheckpointShardAnswer& answer) override;
  void checkpoint_ended(const AskedCheckpoint& answer) override;
  void find_shard_files(uint64_t step);

  Loop& loop_;
  const CheckpointSettings& settings_;
  const ServerSaveRecords& saves_;
  std::function<void()> on_end_ = [] {};

  // The shard, its identity and its parts; null while none is attached.
  Shard* shard_ = nullptr;
  const ShardIdentity* identity_ = nullptr;
  std::unique_ptr<ShardCheckpoint> checkpoint_;

  CheckpointRequests requests_;
  CheckpointShardService shard_files_;
  Time last_begun_{};
  // The pass at whose end the last checkpoint began; none: it began within a pass.
  std::optional<uint64_t> last_pass_;
  AskedCheckpoint last_answer_;  // answer for the last checkpoint, once it is done
};

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_DRIVER_H_
