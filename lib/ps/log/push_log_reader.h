// Reads a shard's log.  Used by ShardServer when it restarts, and by tests.
#ifndef PS_PS_LOG_PUSH_LOG_READER_H_
#define PS_PS_LOG_PUSH_LOG_READER_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ps/log/push_log_format.h"

namespace ps {

// Reads the log in a folder.  All functions throw kCorrupt "file: offset 123: …" if bytes that were synced
// cannot be read.  Bytes that a crash has left behind those are ignored, and reported in the result of read().
// One owner thread.
class PushLogReader {
 public:
  // Opens the log that continues the checkpoint, or that starts at the beginning without one.  Returns nullopt
  // if the folder has no log, if the log continues another state, or if no segment has a whole first batch;
  // `why` then gives the reason.
  static std::optional<PushLogReader> open(const std::string& folder,
                                           const std::optional<CheckpointStep>& checkpoint, std::string& why);

  const SegmentHeader& base() const { return chain_.front(); }
  const std::string& snapshot() const { return snapshot_; }  // snapshot of the base

  // Calls on_event for each event, in order.  Its errors are thrown with file and offset.  The result contains
  // the last batch again, since nothing tells whether its own segment has it on the disk.
  LogEnd read(const std::function<void(ShardEvent, int rank, std::string_view body)>& on_event);

 private:
  explicit PushLogReader(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::vector<SegmentHeader> chain_;  // each segment continues the one before
  std::string snapshot_;
  std::vector<TornBytes> torn_;
};

// Returns the numbers of the segments in a folder, ascending; none if the folder does not exist.
std::vector<uint64_t> log_segments(const std::string& folder);

}  // namespace ps

#endif  // PS_PS_LOG_PUSH_LOG_READER_H_
