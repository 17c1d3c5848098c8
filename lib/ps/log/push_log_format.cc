#include "ps/log/push_log_format.h"

#include <cstdio>

#include "base/bytes.h"
#include "base/hash.h"
#include "config/spec.h"

namespace ps {

namespace {

constexpr std::string_view kSuffix = ".psl";
constexpr size_t kCheckedBytes = 16;  // bytes of a batch's head before `check`

uint64_t aligned(uint64_t offset) {
  return (offset + kBatchAlignment - 1) / kBatchAlignment * kBatchAlignment;
}

}  // namespace

std::string TornBytes::text() const {
  return cat(bytes, " bytes behind offset ", offset, " of ", file, " are no whole batch: a crash, or damage");
}

const ObjectSpec<CheckpointStep>& CheckpointStep::spec() {
  static const ObjectSpec<CheckpointStep> spec = [] {
    ObjectSpec<CheckpointStep> s;
    s.field("step", &CheckpointStep::step, "of the job").must().at_least(0);
    s.field("run", &CheckpointStep::run, "in which it was written").must();
    return s;
  }();
  return spec;
}

const ObjectSpec<LogOwner>& LogOwner::spec() {
  static const ObjectSpec<LogOwner> spec = [] {
    ObjectSpec<LogOwner> s;
    s.field("job", &LogOwner::job, "what of the job file must be equal").must();
    s.field("schema", &LogOwner::schema, "of the data").must();
    s.field("place", &LogOwner::place, "of the shard among those of the job").must();
    s.field("cpu", &LogOwner::cpu, "level of the kernels of the trainer that came first");
    s.field("recovers", &LogOwner::recovers, "the run began with what a checkpoint has, or anew");
    s.field("checkpoint", &LogOwner::checkpoint, "folder of that checkpoint");
    return s;
  }();
  return spec;
}

const ObjectSpec<SegmentHeader>& SegmentHeader::spec() {
  static const ObjectSpec<SegmentHeader> spec = [] {
    ObjectSpec<SegmentHeader> s;
    s.field("version", &SegmentHeader::version, "of the format").must().at_least(4).at_most(4);
    s.field("number", &SegmentHeader::number, "of the segment").must().at_least(1);
    s.field("prior", &SegmentHeader::prior, "segment that it continues, 0: none");
    s.field("prior_end", &SegmentHeader::prior_end, "up to this offset");
    s.field("is_base", &SegmentHeader::is_base, "all before is in a checkpoint, or there was nothing");
    s.field("checkpoint", &SegmentHeader::checkpoint, "that checkpoint");
    s.field("has_snapshot", &SegmentHeader::has_snapshot, "the snapshot of the shard follows");
    s.field("full_step", &SegmentHeader::full_step, "of the checkpoint that increments build on")
        .at_least(-1);
    s.field("since_full", &SegmentHeader::since_full, "increments that build on it").at_least(0);
    s.field("owner", &SegmentHeader::owner, "whose log it is").must();
    return s;
  }();
  return spec;
}

std::string segment_file(uint64_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "%09llu", static_cast<unsigned long long>(number));
  return name + std::string(kSuffix);
}

std::optional<uint64_t> segment_number(std::string_view file) {
  if (!file.ends_with(kSuffix)) return std::nullopt;
  const std::optional<int64_t> number = parse_int(file.substr(0, file.size() - kSuffix.size()));
  if (!number || *number < 1 || segment_file(static_cast<uint64_t>(*number)) != file) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

void append_event(ShardEvent event, int rank, std::string_view body, std::string& out) {
  put(out, event);
  put(out, static_cast<int32_t>(rank));
  put(out, static_cast<uint64_t>(body.size()));
  out += body;
}

std::string encode_segment(const SegmentHeader& header, std::string_view snapshot, std::string_view events) {
  std::string out(kSegmentMagic);
  out.resize(aligned(out.size()), '\0');
  const std::string text = SegmentHeader::spec().to_json(header).dump();
  std::string bytes;
  for (std::string_view part : {std::string_view(text), snapshot}) {
    put(bytes, static_cast<uint64_t>(part.size()));
    bytes += part;
  }
  bytes += events;
  return out + encode_batch(out.size(), bytes);
}

// `check` is a hash of the fields before it, and the offset is its seed: the head of a batch that was
// copied to another place does not count as one.
std::string encode_batch(uint64_t offset, std::string_view bytes) {
  std::string out;
  out.reserve(aligned(kBatchHeadBytes + bytes.size()));
  put(out, static_cast<uint64_t>(bytes.size()));
  put(out, hash_bytes(bytes));
  put(out, hash_bytes(out, offset));
  out += bytes;
  out.resize(aligned(out.size()), '\0');
  return out;
}

std::optional<uint64_t> decode_batch_head(uint64_t offset, std::string_view head) {
  ByteReader in(head);
  const uint64_t size = in.get<uint64_t>();
  in.get<uint64_t>();
  const uint64_t check = in.get<uint64_t>();
  if (!in.ok() || check != hash_bytes(head.substr(0, kCheckedBytes), offset)) return std::nullopt;
  return size;
}

bool batch_is_whole(std::string_view head, std::string_view bytes) {
  ByteReader in(head.substr(sizeof(uint64_t)));
  return in.get<uint64_t>() == hash_bytes(bytes);
}

}  // namespace ps
