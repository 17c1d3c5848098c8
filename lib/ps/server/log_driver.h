// LogDriver: begins and resumes a shard's log, and holds answers back until the changes before them are on
// the disk.  Used by ShardHost.
#ifndef PS_PS_SERVER_LOG_DRIVER_H_
#define PS_PS_SERVER_LOG_DRIVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ps/log/push_log.h"
#include "ps/log/push_log_reader.h"
#include "ps/server/reply.h"
#include "ps/server/served_job.h"
#include "ps/server/shard.h"

namespace ps {

// A checkpoint that has begun, and the state of the shard at that time.
struct BegunCheckpoint {
  CheckpointStep step;
  std::string snapshot;
  Increments increments;
};

// Lives as long as the server; shards come and go.  Everything runs on the loop's thread.
class LogDriver {
 public:
  // Both outlive this.  `on_error` is called when the log cannot be written.
  LogDriver(Loop& loop, const CheckpointSettings& settings, std::function<void(const Error&)> on_error)
      : loop_(loop), settings_(settings), on_error_(std::move(on_error)) {}

  bool is_on() const { return log_ != nullptr; }

  // Returns a reply that answers only when all changes logged until the answer are on the disk.
  ReplyPtr when_synced(ReplyPtr reply);

  // For a shard that begins a run, at this place. check_is_new throws kUsage if there is a log that the run
  // does not resume. begin replaces whatever log there was, since its run is over.
  void check_is_new(const ShardPlace& place, bool recovers) const;
  void begin(Shard& shard, const ShardIdentity& identity, const RunOrigin& origin);

  // For a shard that resumes a run. open returns the log that goes on from the checkpoint, or from the
  // beginning if it is null; nothing if there is none for these servers.  It throws kUsage for a log of
  // another job. resume writes on after `end`, once `events` changes were replayed.
  std::optional<PushLogReader> open(const Json& place, const CheckpointReader* checkpoint) const;
  void resume(Shard& shard, const ShardPlace& place, LogEnd end, uint64_t events,
              const std::function<void(const CheckpointStep&)>& on_logged);
  std::string folder(const ShardPlace& place) const;

  // Says that a checkpoint has begun, from which the log goes on.  `on_logged` is called as soon as that is
  // on the disk.  While a log is replayed, the last checkpoint that begins is kept for resume.
  void begin_checkpoint(BegunCheckpoint begun, std::function<void(const CheckpointStep&)> on_logged);

  // end refuses all answers that are held back, and writes nothing more. close is called after the shard's
  // end.
  void end(const Error& reason);
  void close() { log_.reset(); }

  void prune();  // to be called now and then
  const LogCounters* counters() const { return log_ ? &log_->counters() : nullptr; }

 private:
  void write(Shard& shard, const ShardPlace& place, LogEnd end);
  void tell_when_logged(const CheckpointStep& step, std::function<void(const CheckpointStep&)> on_logged);

  Loop& loop_;
  const CheckpointSettings& settings_;
  const std::function<void(const Error&)> on_error_;
  std::unique_ptr<PushLog> log_;             // null: there is none
  std::optional<BegunCheckpoint> replayed_;  // the last that began while a log was replayed
};

}  // namespace ps

#endif  // PS_PS_SERVER_LOG_DRIVER_H_
