// Reads a shard's log back.  Used by ShardServer when it comes again, and by tests.
#ifndef PS_PS_LOG_PUSH_LOG_READER_H_
#define PS_PS_LOG_PUSH_LOG_READER_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ps/log/push_log_format.h"

namespace ps {

// Reads the log in a folder.  All throw kCorrupt "file: offset 123: …" when bytes that were synced cannot be
// read; bytes that a crash has left behind those are passed over, and told by the end that read() returns.
class PushLogReader {
 public:
  // The log that leads on from the checkpoint, or, without one, from the beginning.  Nothing when there is
  // none in the folder, or it goes on from something else, or no segment begins: then `why` says so.
  static std::optional<PushLogReader> open(const std::string& folder,
                                           const std::optional<CheckpointStep>& checkpoint, std::string& why);

  const SegmentHeader& base() const { return chain_.front(); }
  const std::string& snapshot() const { return snapshot_; }  // of the base

  // Calls on_event for each event, in order.  Its errors come out with file and offset.  The end that
  // returns has the last batch again: nothing says that its own segment has it on the disk.
  LogEnd read(const std::function<void(ShardEvent, int rank, std::string_view body)>& on_event);

 private:
  explicit PushLogReader(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::vector<SegmentHeader> chain_;  // each continues the one before
  std::string snapshot_;
  std::vector<TornBytes> torn_;
};

// Numbers of the segments in a folder, ascending; none when there is no folder.
std::vector<uint64_t> log_segments(const std::string& folder);

}  // namespace ps

#endif  // PS_PS_LOG_PUSH_LOG_READER_H_
