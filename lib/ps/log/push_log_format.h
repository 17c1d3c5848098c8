// The bytes of a shard's log: what PushLog writes, and read_push_log reads.  ps-checkpoint(5).
//
// A log is a folder of segments, files that are numbered.  Each is written from its beginning to its end, in
// batches; a batch is written when the one before it is on the disk.  So whatever has a batch behind it was
// synced: it is damaged if it cannot be read, while what is wrong with the last batch of the last segment is
// what a crash leaves, and is cut off.
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
  std::string cpu;        // level of the trainer that came first
  bool recovers = false;  // of the shard's run: see RunStatus
  std::string checkpoint;

  static const ObjectSpec<LogOwner>& spec();
};

// The beginning of a segment.
struct SegmentHeader {
  uint64_t version = 2;
  uint64_t number = 1;  // of the segment, also its file's name

  // The segment that this one continues, up to this offset; 0: none.  Bytes behind that offset do not count.
  uint64_t prior = 0, prior_end = 0;

  // True when all that came before is in this checkpoint, or there was nothing.
  bool is_base = false;
  std::optional<CheckpointStep> checkpoint;
  bool has_snapshot = false;  // with the snapshot of the shard: that checkpoint was made in its run

  // The full checkpoint on which the next increment builds, -1: none; and how many build on it.
  int64_t full_step = -1, since_full = 0;

  LogOwner owner;

  static const ObjectSpec<SegmentHeader>& spec();
};

// Bytes that are no whole batch behind the last one of a segment: a crash came while they were written, or they were synced
// and are damaged since.  Nothing tells the one from the other.
struct TornBytes {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;  // up to the last that is not zero

  std::string text() const;  // "… bytes behind offset …", for a warning
};

// Where a log ends, and how the next segment goes on.
struct LogEnd {
  std::vector<SegmentHeader> chain;  // that are needed, each continues the one before
  SegmentHeader header;              // of the next segment, less its number
  std::string snapshot;
  std::string events;                // with which it begins
  std::vector<TornBytes> torn = {};  // passed over
};

inline constexpr uint64_t kBatchAlignment = 64, kBatchHeadBytes = 24;
inline constexpr std::string_view kSegmentMagic = "pskitlog";

std::string segment_file(uint64_t number);
std::optional<uint64_t> segment_number(std::string_view file);  // nothing: segment_file gives no such name

// event := kind:u8 rank:i32 size:u64 body[size]
void append_event(ShardEvent event, int rank, std::string_view body, std::string& out);

// The beginning of a segment: the magic, and its first batch.
std::string encode_segment(const SegmentHeader& header, std::string_view snapshot, std::string_view events);

// segment := "pskitlog" zeros[56] batch...
// batch := size:u64 checksum:u64 check:u64 bytes[size] zeros, up to a multiple of 64 bytes in the file
//
// The bytes of the first are size:u64 header[size] size:u64 snapshot[size] event..., the header as JSON; of the
// others, events.  The first is there whole or not at all, so that the log never ends before that which
// it says of the segment before.  `checksum` is of the bytes, `check` of the two before it and of the offset in
// the file.
std::string encode_batch(uint64_t offset, std::string_view bytes);

// The size of the batch whose head this is; nothing when it is none that is at this offset.
std::optional<uint64_t> decode_batch_head(uint64_t offset, std::string_view head);

// The bytes of a batch are these.
bool batch_is_whole(std::string_view head, std::string_view bytes);

}  // namespace ps

#endif  // PS_PS_LOG_PUSH_LOG_FORMAT_H_
