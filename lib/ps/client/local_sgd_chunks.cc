// The chunks of LocalSgdCopies, in which servers' checkpoints store the state of a trainer in local SGD.
//
//   chunk    := kind:u8 schedule | kind:u8 steps | kind:u8 section*          kind: StateChunkKind
//   schedule := samples:i64 steps:i64 learning_rate:f64
//   steps    := offset:u64 total:u64 bytes[...]     some of the bytes of `known`
//   known    := pass:i64 pass_batches:i64 batches:i64 rows:u64 steps:i64 optimizers
//               rows: of all chunks; optimizers: those of store/optimizer_states.h
//   section  := parameter:u32 count:u32 row[count]
//   row      := key:u64 flags:u8 base:f32[cols]? stamp:u32? f32[cols (1 + state arrays)]
//               flags: 1 there is a base, what the servers had; 2 the difference to it is on its way
//
// Rows are as they lie in the trainer's tables: weights, then state; and a stamp where rows have one.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "ps/client/local_sgd_copies.h"
#include "store/optimizer_states.h"

namespace ps {

// One owner thread.  The copies outlive this, which takes only a few bytes of memory for each chunk.
class LocalSgdChunks final : public StateChunkSource {
 public:
  LocalSgdChunks(const LocalSgdCopies& copies, uint64_t most_bytes);

  size_t size() const override;
  std::string encode(size_t chunk) const override;

 private:
  // A range of rows of one parameter, by their positions among the rows that exist.
  struct Run {
    uint32_t parameter;
    uint64_t first, count;
  };

  void add_rows(uint32_t parameter, uint64_t rows);
  size_t num_known() const;
  std::string encode_steps(size_t part) const;
  void encode_rows(const Run& run, std::string& out) const;

  const LocalSgdCopies& copies_;
  const uint64_t most_bytes_;
  std::string known_;
  std::vector<Run> runs_;
  std::vector<size_t> begins_;  // by chunk of rows: its first run
  uint64_t last_bytes_ = 0;     // upper bound of the bytes of the last chunk
};

namespace {

constexpr uint64_t kSectionBytes = 8;
constexpr size_t kCopiedAtOnce = 256;  // rows that are copied from a table at once

std::string begin_chunk(StateChunkKind kind) {
  std::string out;
  put(out, kind);
  return out;
}

// Returns the largest number of bytes that a row takes in a chunk.
uint64_t row_bytes(const TableLayout& layout) {
  const uint64_t floats = static_cast<uint64_t>(layout.width + layout.values());
  return sizeof(uint64_t) + sizeof(uint8_t) + sizeof(uint32_t) + floats * sizeof(float);
}

}  // namespace

// Divides the state into chunks without encoding the rows: these are only counted, since a chunk is encoded
// when it can be sent.  The small rest, `known`, is encoded at once.
LocalSgdChunks::LocalSgdChunks(const LocalSgdCopies& copies, uint64_t most_bytes)
    : copies_(copies), most_bytes_(most_bytes) {
  uint64_t rows = 0;
  for (size_t p = 0; p < copies.specs().size(); ++p) {
    rows += copies.num_rows(p);
    add_rows(static_cast<uint32_t>(p), copies.num_rows(p));
  }
  const LocalSgdProgress& progress = copies.progress;
  for (int64_t number : {progress.pass, progress.pass_batches, progress.batches}) put(known_, number);
  put(known_, rows);
  put(known_, optimizer_steps(copies.local_.tables()));
  save_optimizers(copies.local_.tables(), known_);
}

// Adds rows to the last chunk until it is full, and then begins other chunks.  `used` is the size of the
// last chunk with the head of another section, and `room` the number of rows that fit behind it.  A chunk
// gets one row at least, even if this row alone is longer than most_bytes_.  The size of a row is its
// largest, so that no chunk outgrows its bound.
void LocalSgdChunks::add_rows(uint32_t parameter, uint64_t rows) {
  const uint64_t bytes = row_bytes(copies_.local_.layout(static_cast<int>(parameter)));
  for (uint64_t first = 0; first < rows;) {
    const uint64_t used = last_bytes_ + kSectionBytes;
    uint64_t room = used < most_bytes_ ? (most_bytes_ - used) / bytes : 0;
    if (begins_.empty() || room == 0) {
      begins_.push_back(runs_.size());
      last_bytes_ = sizeof(StateChunkKind);
      const uint64_t empty = last_bytes_ + kSectionBytes;
      room = empty < most_bytes_ ? std::max<uint64_t>(1, (most_bytes_ - empty) / bytes) : 1;
    }
    const uint64_t count = std::min(room, rows - first);
    runs_.push_back({parameter, first, count});
    last_bytes_ += kSectionBytes + count * bytes;
    first += count;
  }
}

size_t LocalSgdChunks::num_known() const {
  return (known_.size() + most_bytes_ - 1) / most_bytes_;
}

size_t LocalSgdChunks::size() const {
  return 1 + num_known() + begins_.size();
}

// Chunk 0 has the schedule, the next num_known() chunks have the parts of `known`, and the others the rows.
std::string LocalSgdChunks::encode(size_t chunk) const {
  if (chunk == 0) {
    std::string out = begin_chunk(StateChunkKind::kSchedule);
    copies_.local_.schedule().save(out);
    return out;
  }
  if (chunk <= num_known()) return encode_steps(chunk - 1);
  const size_t n = chunk - 1 - num_known();
  const size_t end = n + 1 < begins_.size() ? begins_[n + 1] : runs_.size();
  std::string out = begin_chunk(StateChunkKind::kRows);
  for (size_t run = begins_[n]; run < end; ++run) encode_rows(runs_[run], out);
  return out;
}

std::string LocalSgdChunks::encode_steps(size_t part) const {
  std::string out = begin_chunk(StateChunkKind::kSteps);
  const uint64_t offset = part * most_bytes_;
  put(out, offset);
  put(out, static_cast<uint64_t>(known_.size()));
  out += std::string_view(known_).substr(offset, most_bytes_);
  return out;
}

// Encodes the rows of a run as one section, kCopiedAtOnce of them at a time, so that the copies take little
// memory beside the chunk.  The rows are copied as they are stored, without their idle steps, and with
// stamps that say how many steps each has had.
void LocalSgdChunks::encode_rows(const Run& run, std::string& out) const {
  const size_t p = run.parameter, cols = static_cast<size_t>(copies_.specs()[p].cols);
  const size_t values = static_cast<size_t>(copies_.local_.layout(static_cast<int>(p)).values());
  put(out, run.parameter);
  put(out, static_cast<uint32_t>(run.count));
  std::vector<uint64_t> keys;
  RowBlock rows;
  for (uint64_t done = 0; done < run.count; done += keys.size()) {
    copies_.list_keys(p, run.first + done, std::min<uint64_t>(kCopiedAtOnce, run.count - done), keys);
    copies_.local_.copy_rows(static_cast<int>(p), keys, rows);
    for (size_t n = 0; n < keys.size(); ++n) {
      bool sent = false;
      const float* base = copies_.base_of(p, keys[n], sent);
      put(out, keys[n]);
      put(out, static_cast<uint8_t>((base != nullptr ? kLocalSgdBase : 0) | (sent ? kLocalSgdSent : 0)));
      if (base != nullptr) put_array(out, std::span(base, cols));
      if (!rows.stamps.empty()) put(out, rows.stamps[n]);
      put_array(out, std::span<const float>(rows.values).subspan(n * values, values));
    }
  }
}

std::unique_ptr<StateChunkSource> LocalSgdCopies::chunks(uint64_t most_bytes) const {
  return std::make_unique<LocalSgdChunks>(*this, most_bytes);
}

}  // namespace ps
