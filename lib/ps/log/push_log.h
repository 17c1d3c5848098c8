// PushLog: writes what changes a shard to files, many changes at once, and says when they are on the disk:
// then who asked for them may be answered.  Used by ShardServer, with --durability log.
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
  bool own_thread = true;  // else all is written in the loop, for simulated time

  // Folder of the newest checkpoint that counts, or nothing: what was before it is not needed any more.
  // Called on the thread that writes.
  std::function<std::string()> newest_checkpoint = [] { return std::string(); };
};

// Everything runs on the loop's thread but the writing.
class PushLog {
 public:
  // `on_error` is called once, when something could not be written: nothing is from then on.
  PushLog(Loop& loop, PushLogSettings settings, std::function<void(const Error&)> on_error);
  ~PushLog();
  PushLog(const PushLog&) = delete;
  PushLog& operator=(const PushLog&) = delete;

  // Begins the first segment.
  void begin(LogEnd end);

  // Begins a segment with a checkpoint that is being made of what has been added so far.
  void begin_base(const CheckpointStep& checkpoint, std::string snapshot, const Increments& increments = {});

  void add(ShardEvent event, int rank, std::string_view body);

  // Calls done(null) once all that was added is on the disk, in the order of the calls, perhaps at once; or
  // done(error) when that will not be.
  using Done = std::function<void(const Error* error)>;
  void when_synced(Done done);

  // Refuses all that wait, and writes nothing more.
  void end(const Error& error);

  // Removes what is not needed any more.  To be called now and then.
  void prune();

  void note_replayed(uint64_t events) { counters_.replayed = events; }
  const LogCounters& counters() const { return counters_; }

 private:
  class Files;
  struct Link;

  // The writer's next work: perhaps a new segment, and then a batch.
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
  std::optional<Error> error_;  // nothing is written after it
  std::vector<Work> work_;
  uint64_t added_ = 0, synced_ = 0;  // changes
  bool committing_ = false;
  std::deque<Waiting> waiting_;
  Timer timer_;
  std::shared_ptr<Link> link_;    // to here, from what the writer posts
  std::unique_ptr<Files> files_;  // the writer's
  BackgroundWriter writer_;       // the last: its tasks end first
};

}  // namespace ps

#endif  // PS_PS_LOG_PUSH_LOG_H_
