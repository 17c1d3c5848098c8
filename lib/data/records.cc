#include "data/records.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

namespace ps {

// The grammar, as in ps-data(5).  B: examples; K: keys of a slot in all of them.
//
//   stream   = header { chunk } end
//   header   = magic[8] version:u32 size:u32 checksum:u64 schema[size]
//   schema   = slots:u32 { dense:u32 dim:i64 name_size:u32 name[name_size] }
//   chunk    = "PSRC" zero:u32 size:u64 checksum:u64 examples[size]
//   end      = "PSRE" zero:u32 zero:u64 checksum:u64
//   examples = B:u32 flags:u32 label:f32[B] [ weight:f32[B] ] [ group:u64[B] ] slot...
//   slot     = value:f32[B * dim]                                    when dense
//            | K:u32 valued:u32 offset:u32[B + 1] key:u64[K] [ value:f32[K] ]
//
// A checksum is the XXH3-64 of the bytes that follow, seeded with their number, so that it guards the length.
namespace {

// A transfer in text mode changes the line end of the magic, so that such a file is refused.
constexpr std::string_view kMagic("PSRECS\r\n", 8);
constexpr uint32_t kVersion = 1;
constexpr uint32_t kChunkMagic = 0x43525350, kEndMagic = 0x45525350;  // "PSRC", "PSRE"
constexpr uint32_t kHasWeights = 1, kHasGroups = 2;                   // on disk: never renumber
constexpr uint64_t kChunkTarget = uint64_t{1} << 20;  // large enough to checksum fast, small enough to spread
constexpr uint32_t kMostRecordSlots = 1 << 16;

uint64_t checksum_of(std::string_view bytes) {
  return hash_bytes(bytes, bytes.size());
}

// Appends elements [begin, end) of an array, without their number.
template <class T>
void put_part(std::string& out, const std::vector<T>& values, int64_t begin, int64_t end) {
  put_array(out, std::span(values).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

// Appends a slot of examples [begin, end).  Offsets count from the first key of these examples, so that
// those of each chunk begin with 0, wherever the chunk was cut.
void put_sparse(std::string& out, const SlotData& slot, int64_t begin, int64_t end) {
  uint32_t first = slot.offsets[static_cast<size_t>(begin)], last = slot.offsets[static_cast<size_t>(end)];
  put(out, last - first);
  put(out, static_cast<uint32_t>(slot.valued()));
  for (int64_t b = begin; b <= end; ++b) put(out, slot.offsets[static_cast<size_t>(b)] - first);
  put_part(out, slot.keys, first, last);
  if (slot.valued()) put_part(out, slot.values, first, last);
}

void put_examples(std::string& out, const DataSchema& schema, const Batch& batch, int64_t begin,
                  int64_t end) {
  put(out, static_cast<uint32_t>(end - begin));
  put(out, (batch.weights.empty() ? 0 : kHasWeights) | (batch.groups.empty() ? 0 : kHasGroups));
  put_part(out, batch.labels, begin, end);
  if (!batch.weights.empty()) put_part(out, batch.weights, begin, end);
  if (!batch.groups.empty()) put_part(out, batch.groups, begin, end);
  for (size_t s = 0; s < schema.slots.size(); ++s) {
    if (schema.slots[s].dense) {
      put_part(out, batch.slots[s].values, begin * schema.slots[s].dim, end * schema.slots[s].dim);
    } else {
      put_sparse(out, batch.slots[s], begin, end);
    }
  }
}

// Returns nearly the bytes of an example in a chunk: label, weight and group (the latter two also if there
// are none), values of dense slots, and the offset, keys and values of sparse ones.
uint64_t example_bytes(const DataSchema& schema, const Batch& batch, int64_t index) {
  uint64_t bytes = 4 + 4 + 8;
  for (size_t s = 0; s < schema.slots.size(); ++s) {
    const SlotData& slot = batch.slots[s];
    size_t b = static_cast<size_t>(index);
    bytes += schema.slots[s].dense
                 ? static_cast<uint64_t>(schema.slots[s].dim) * 4
                 : 4 + uint64_t{slot.offsets[b + 1] - slot.offsets[b]} * (slot.valued() ? 12 : 8);
  }
  return bytes;
}

// Returns the end of the chunk that begins at example `begin`: as many examples as fit the target, at least
// one.
int64_t chunk_end(const DataSchema& schema, const Batch& batch, int64_t begin) {
  uint64_t bytes = 0;
  int64_t end = begin;
  while (end < batch.size() && (end == begin || bytes < kChunkTarget))
    bytes += example_bytes(schema, batch, end++);
  return end;
}

void check_sum(const RecordsHead& decoded, std::string_view bytes, std::string_view what) {
  uint64_t found = checksum_of(bytes);
  if (found != decoded.checksum)
    fail(Code::kCorrupt, what, ": checksum ", found, ", expected ", decoded.checksum);
}

[[noreturn]] void fail_lengths(std::string_view what) {
  fail(Code::kCorrupt, "the lengths of ", what, " contradict the size of the chunk");
}

// Fills `out` with `count` elements.  Checks that the bytes are there before it allocates.
template <class T>
void read_array(ByteReader& reader, uint64_t count, std::vector<T>& out, std::string_view what) {
  if (count > reader.remaining() / sizeof(T)) fail_lengths(what);
  out.resize(count);
  reader.get_array(std::span<T>(out));
}

// Throws unless all values are finite.  The bits of finite floats without their sign, read as integers, lie
// below those of infinity, so the loop takes their maximum without a branch.
void check_finite(const std::vector<float>& values, std::string_view what) {
  uint32_t largest = 0;
  for (float value : values) largest = std::max(largest, std::bit_cast<uint32_t>(value) & 0x7fffffffu);
  if (largest >= 0x7f800000u) fail(Code::kData, what, " has a value that is not finite");
}

void check_keys(const SlotSchema& schema, const std::vector<Key>& keys) {
  if (schema.dim == 0 || keys.empty()) return;
  Key largest = 0;
  for (Key key : keys) largest = std::max(largest, key);
  if (largest < static_cast<Key>(schema.dim)) return;
  fail(Code::kData, "id ", largest, " of slot ", quote(schema.name), " is outside dim ", schema.dim);
}

// Offsets that begin with 0, ascend and end with the number of keys make every range of keys lie within the
// array.  The checks of arrays come before their allocation: a number of keys that the chunk does not have
// is refused first.
void read_sparse(ByteReader& reader, const SlotSchema& schema, uint32_t examples, SlotData& slot) {
  uint32_t keys = reader.get<uint32_t>(), valued = reader.get<uint32_t>();
  if (valued > 1) fail_lengths(schema.name);
  read_array(reader, uint64_t{examples} + 1, slot.offsets, schema.name);
  if (slot.offsets.front() != 0 || slot.offsets.back() != keys) fail_lengths(schema.name);
  if (!std::is_sorted(slot.offsets.begin(), slot.offsets.end())) fail_lengths(schema.name);
  read_array(reader, keys, slot.keys, schema.name);
  read_array(reader, valued ? keys : 0, slot.values, schema.name);
  check_keys(schema, slot.keys);
  check_finite(slot.values, schema.name);
}

// Reads the schema of a slot.  The width of a dense slot is bounded, so that its product with any number of
// examples fits into 64 bits.
SlotSchema read_slot(ByteReader& reader) {
  SlotSchema slot;
  uint32_t dense = reader.get<uint32_t>();
  slot.dense = dense == 1;
  slot.dim = reader.get<int64_t>();
  slot.name = reader.get_bytes(reader.get<uint32_t>());
  bool width_fits = !slot.dense || (slot.dim > 0 && slot.dim <= int64_t{1} << 24);
  if (!reader.ok() || dense > 1 || slot.dim < 0 || !width_fits) fail(Code::kCorrupt, "the schema is damaged");
  return slot;
}

}  // namespace

void encode_records_header(const DataSchema& schema, std::string& out) {
  std::string bytes;
  put(bytes, static_cast<uint32_t>(schema.slots.size()));
  for (const SlotSchema& slot : schema.slots) {
    put(bytes, static_cast<uint32_t>(slot.dense));
    put(bytes, slot.dim);
    put(bytes, static_cast<uint32_t>(slot.name.size()));
    bytes += slot.name;
  }
  out += kMagic;
  put(out, kVersion);
  put(out, static_cast<uint32_t>(bytes.size()));
  put(out, checksum_of(bytes));
  out += bytes;
}

// The head has the size and checksum of the examples, so its place is kept free until they are encoded
// behind it.
void encode_records_chunk(const DataSchema& schema, const Batch& batch, std::string& out) {
  for (int64_t begin = 0, end; begin < batch.size(); begin = end) {
    end = chunk_end(schema, batch, begin);
    size_t head = out.size();
    out.append(kRecordsChunkHeadBytes, '\0');
    put_examples(out, schema, batch, begin, end);
    std::string_view bytes = std::string_view(out).substr(head + kRecordsChunkHeadBytes);
    if (bytes.size() > kMaxRecordsChunkBytes)
      fail(Code::kData, "an example is too large for the format 'records'");
    uint64_t size = bytes.size(), checksum = checksum_of(bytes);
    std::memcpy(out.data() + head, &kChunkMagic, 4);
    std::memcpy(out.data() + head + 8, &size, 8);
    std::memcpy(out.data() + head + 16, &checksum, 8);
  }
}

void encode_records_end(std::string& out) {
  put(out, kEndMagic);
  put(out, uint32_t{0});
  put(out, uint64_t{0});
  put(out, checksum_of({}));
}

bool is_records(std::string_view head) {
  return head.starts_with(kMagic);
}

// Heads of all three kinds have kRecordsHeaderBytes, of which the first 4 or 8 tell the kind.  Sizes are
// bounded here, since the caller allocates that many bytes next.  ByteReader gives zeros beyond the end, so
// that one check of ok() is enough.
RecordsHead decode_records_head(std::string_view head) {
  ByteReader reader(head);
  RecordsHead decoded{};
  if (is_records(head)) {
    reader.get_bytes(kMagic.size());
    uint32_t version = reader.get<uint32_t>();
    if (version != kVersion) fail(Code::kCorrupt, "version ", version, " of records, expected ", kVersion);
    decoded.kind = RecordsHead::kHeader;
    decoded.size = reader.get<uint32_t>();
  } else {
    uint32_t magic = reader.get<uint32_t>(), zero = reader.get<uint32_t>();
    if ((magic != kChunkMagic && magic != kEndMagic) || zero != 0) {
      fail(Code::kCorrupt, "damaged: neither a header nor a chunk of records begins here");
    }
    decoded.kind = magic == kChunkMagic ? RecordsHead::kChunk : RecordsHead::kEnd;
    decoded.size = reader.get<uint64_t>();
  }
  decoded.checksum = reader.get<uint64_t>();
  uint64_t most = decoded.kind == RecordsHead::kHeader ? kMaxRecordsSchemaBytes
                  : decoded.kind == RecordsHead::kEnd  ? 0
                                                       : kMaxRecordsChunkBytes;
  if (!reader.ok()) fail(Code::kCorrupt, "cut short");
  if (decoded.size > most)
    fail(Code::kCorrupt, "damaged: length ", decoded.size, ", expected at most ", most);
  if (decoded.kind == RecordsHead::kEnd) check_sum(decoded, {}, "end");
  return decoded;
}

DataSchema decode_records_schema(const RecordsHead& decoded, std::string_view bytes) {
  check_sum(decoded, bytes, "schema");
  ByteReader reader(bytes);
  uint32_t slots = reader.get<uint32_t>();
  if (slots > kMostRecordSlots) fail(Code::kCorrupt, "the schema is damaged");
  DataSchema schema;
  for (uint32_t s = 0; s < slots; ++s) schema.slots.push_back(read_slot(reader));
  if (!reader.ok() || reader.remaining() != 0) fail(Code::kCorrupt, "the schema is damaged");
  return schema;
}

void decode_records_chunk(const DataSchema& schema, const RecordsHead& decoded, std::string_view bytes,
                          Batch& batch) {
  check_sum(decoded, bytes, "chunk");
  ByteReader reader(bytes);
  uint32_t examples = reader.get<uint32_t>(), flags = reader.get<uint32_t>();
  if (flags & ~(kHasWeights | kHasGroups)) fail(Code::kCorrupt, "chunk: unknown flags ", flags);
  // Arrays are resized below without being emptied first: a vector clears only the elements that it grows by.
  batch.slots.resize(schema.slots.size());
  read_array(reader, examples, batch.labels, "labels");
  read_array(reader, flags & kHasWeights ? examples : 0, batch.weights, "weights");
  read_array(reader, flags & kHasGroups ? examples : 0, batch.groups, "groups");
  check_finite(batch.labels, "labels");
  check_finite(batch.weights, "weights");
  for (size_t s = 0; s < schema.slots.size(); ++s) {
    const SlotSchema& slot = schema.slots[s];
    if (!slot.dense) {
      read_sparse(reader, slot, examples, batch.slots[s]);
    } else {
      batch.slots[s].offsets.clear();
      batch.slots[s].keys.clear();
      read_array(reader, uint64_t{examples} * static_cast<uint64_t>(slot.dim), batch.slots[s].values,
                 slot.name);
      check_finite(batch.slots[s].values, slot.name);
    }
  }
  if (!reader.ok() || reader.remaining() != 0) fail_lengths("the slots");
}

}  // namespace ps
