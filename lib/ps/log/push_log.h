// PushLog: writes the changes of a shard to files, many changes at once, and tells when they are on the disk.
// Then the requests that made them may be answered.  Used by ShardServer, with --durability log.
#ifndef PS_PS_LOG_PUSH_LOG_H_
#define PS_PS_LOG_PUSH_LOG_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/background_writer.h"
#include "base/error.h"
#include "base/file_system.h"
#include "net/loop.h"
#include "ps/log/push_log_format.h"
#include "ps/status/shard_status.h"
#include "ps/wire/checkpoint_step.h"

namespace ps {

struct PushLogSettings {
  std::string folder;
  FileSystem* files = &system_files();
  bool own_thread = true;  // false: the loop's thread writes, for simulated time

  // Returns the folder of the newest checkpoint that counts, or an empty string.  Changes before that
  // checkpoint are not needed any more.  Called on the thread that writes.
  std::function<std::string()> newest_checkpoint = [] { return std::string(); };
};

// One owner thread, that of the loop; only the writing runs on another one.
class PushLog {
 public:
  // `on_error` is called once, when a write has failed; nothing is written from then on.
  PushLog(Loop& loop, PushLogSettings settings, std::function<void(const Error&)> on_error);
  ~PushLog();
  PushLog(const PushLog&) = delete;
  PushLog& operator=(const PushLog&) = delete;

  // Begins the first segment.
  void begin(LogEnd end);

  // Begins a segment at a checkpoint that is being made of all changes added so far.
  void begin_base(const CheckpointStep& checkpoint, std::string snapshot, const Increments& increments = {});

  void add(ShardEvent event, int rank, std::string_view body);

  // Calls done(null) when all changes added so far are on the disk, or done(error) if they will never be.  The
  // calls come in the order of the requests, and may come at once.
  using Done = std::function<void(const Error* error)>;
  void when_synced(Done done);

  // Calls all waiting functions with the error, and writes nothing more.
  void end(const Error& error);

  // Removes segments that are not needed any more.  The caller calls it now and then.
  void prune();

  void note_replayed(uint64_t events) { counters_.replayed = events; }
  const LogCounters& counters() const { return counters_; }

 private:
  class Files;
  struct Link;

  // The next work of the writer: a new segment, if there is one, and then a batch.
  struct Work {
    std::optional<SegmentHeader> segment;
    std::string snapshot, events;
  };

  void start_commit();
  void commit();
  void tell(const std::shared_ptr<Link>& link, uint64_t position, uint64_t bytes,
            const std::optional<Error>& error);
  void committed(uint64_t position, uint64_t bytes, const std::optional<Error>& error);
  void fail(const Error& error);

  struct Waiting {
    uint64_t position;
    Done done;
  };

  Loop& loop_;
  const std::function<void(const Error&)> on_error_;
  LogOwner owner_;
  LogCounters counters_;
  std::optional<Error> error_;  // after it, nothing is written
  std::vector<Work> work_;
  uint64_t added_ = 0, synced_ = 0;  // number of changes added, and of those on the disk
  bool committing_ = false;
  std::deque<Waiting> waiting_;
  Timer timer_;
  std::shared_ptr<Link> link_;    // link to this log, for tasks that the writer posts
  std::unique_ptr<Files> files_;  // used by the writer
  BackgroundWriter writer_;       // the last member, so that its tasks end first
};

}  // namespace ps

#endif  // PS_PS_LOG_PUSH_LOG_H_
