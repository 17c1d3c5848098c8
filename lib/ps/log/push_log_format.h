// The bytes of a shard's log, which PushLog writes and PushLogReader reads; see ps-checkpoint(5).
//
// A log is a folder of segments, which are numbered files.  Each is written from its beginning to its end, in
// batches.  A batch is written only when the one before it is on the disk.  So every batch with another one
// behind it was synced, and is damaged if it cannot be read.  Wrong bytes in the last batch of the last segment
// may come from a crash, and are cut off.
#ifndef PS_PS_LOG_PUSH_LOG_FORMAT_H_
#define PS_PS_LOG_PUSH_LOG_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/spec.h"
#include "ps/log/shard_event.h"
#include "ps/wire/checkpoint_step.h"

namespace ps {

// The owner of a log: the fields that must be equal for a shard to resume from it.
struct LogOwner {
  Json job, schema, place;
  std::string cpu;        // kernel level of the first trainer
  bool recovers = false;  // RunStatus::recovers of the shard's run
  std::string checkpoint;

  static const ObjectSpec<LogOwner>& spec();
};

// The header of a segment.
struct SegmentHeader {
  uint64_t version = 4;
  uint64_t number = 1;  // number of the segment, which also names its file

  // The segment that this one continues, and the offset up to which it counts; 0: none.  Bytes behind that
  // offset do not count.
  uint64_t prior = 0, prior_end = 0;

  // True if all earlier changes are in this checkpoint, or if there were none.
  bool is_base = false;
  std::optional<CheckpointStep> checkpoint;
  bool has_snapshot = false;  // the shard's snapshot follows: the checkpoint was made in the shard's run

  // Step of the full checkpoint on which the next increment builds, -1: none; and the number of increments that
  // build on it.
  int64_t full_step = -1, since_full = 0;

  LogOwner owner;

  static const ObjectSpec<SegmentHeader>& spec();
};

// Bytes behind the last batch of a segment that are not a whole batch.  Either a crash came while they were
// written, or they were synced and are damaged since; the two cannot be told apart.
struct TornBytes {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;  // number of bytes up to the last that is not zero

  std::string text() const;  // "… bytes behind offset …", for a warning
};

// The end of a log, and the beginning of the next segment.
struct LogEnd {
  std::vector<SegmentHeader> chain;  // the needed segments; each continues the one before
  SegmentHeader header;              // header of the next segment, without its number
  std::string snapshot;
  std::string events;                // events with which the next segment begins
  std::vector<TornBytes> torn = {};  // bytes that were ignored
};

inline constexpr uint64_t kBatchAlignment = 64, kBatchHeadBytes = 24;
inline constexpr std::string_view kSegmentMagic = "pskitlog";

std::string segment_file(uint64_t number);
std::optional<uint64_t> segment_number(std::string_view file);  // nullopt if segment_file gives no such name

// event := kind:u8 rank:i32 size:u64 body[size]
void append_event(ShardEvent event, int rank, std::string_view body, std::string& out);

// Encodes the beginning of a segment: the magic, and its first batch.
std::string encode_segment(const SegmentHeader& header, std::string_view snapshot, std::string_view events);

// segment := "pskitlog" zeros[56] batch...
// batch := size:u64 checksum:u64 check:u64 bytes[size] zeros, up to a multiple of 64 bytes in the file
//
// The bytes of the first batch are size:u64 header[size] size:u64 snapshot[size] event..., where the header is
// JSON. The bytes of all others are events.  The first batch is either whole or not there, so that the log
// never ends before the offset that it names in the segment before.  `checksum` covers the bytes; `check`
// covers the two fields before it and the offset in the file.
std::string encode_batch(uint64_t offset, std::string_view bytes);

// Returns the size of the batch with this head, or nullopt if the head is not that of a batch at this offset.
std::optional<uint64_t> decode_batch_head(uint64_t offset, std::string_view head);

// Returns true if these are the bytes of the batch with this head.
bool batch_is_whole(std::string_view head, std::string_view bytes);

}  // namespace ps

#endif  // PS_PS_LOG_PUSH_LOG_FORMAT_H_
