#include "checkpoint/row_chunks.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "table/table_partition.h"

namespace ps {

namespace {

constexpr uint32_t kIncremental = 1, kStamped = 2, kSparse = 4;  // flags of SECT: on disk, never renumber
constexpr uint64_t kMaxWidth = uint64_t{1} << 28, kMaxArrays = 64, kMaxStatistics = 64;

template <class T>
std::string_view as_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// out [count] <- the numbers of a chunk, which must have exactly `count` of them.
template <class T>
void read_array(const ChunkReader& reader, size_t chunk, uint32_t id, uint64_t count, ChunkBuffers& buffers,
                std::vector<T>& out) {
  if (chunk == reader.chunks().size()) {
    reader.fail_chunk(chunk - 1, cat("the last chunk, expected ", chunk_name(id), " after it"));
  }
  const ChunkInfo& info = reader.chunks()[chunk];
  if (info.id != id) reader.fail_chunk(chunk, cat("is ", chunk_name(info.id), ", expected ", chunk_name(id)));
  if (info.raw_bytes != count * sizeof(T)) {
    reader.fail_chunk(chunk, cat(info.raw_bytes, " bytes, expected ", count, " numbers of ", sizeof(T)));
  }
  out.resize(count);
  reader.read(chunk, buffers, reinterpret_cast<char*>(out.data()));
}

}  // namespace

std::string encode_section(const Section& section) {
  const TableLayout& layout = section.layout;
  std::string out;
  put(out, section.partition);
  put(out, (section.incremental ? kIncremental : 0) | (layout.stamped ? kStamped : 0) |
               (layout.sparse ? kSparse : 0));
  put(out, static_cast<uint64_t>(layout.width));
  put(out, static_cast<uint32_t>(layout.state_arrays));
  put(out, static_cast<uint32_t>(layout.statistics.size()));
  put(out, layout.rows);
  return out + layout.name;
}

// All bounds are checked before the layout is made from them, since other code computes sizes of rows from
// a layout without fear of overflow.
Section decode_section(std::string_view bytes) {
  ByteReader in(bytes);
  Section section;
  section.partition = in.get<uint32_t>();
  const uint32_t flags = in.get<uint32_t>();
  const uint64_t width = in.get<uint64_t>();
  const uint32_t arrays = in.get<uint32_t>(), statistics = in.get<uint32_t>();
  section.layout.rows = in.get<uint64_t>();
  section.layout.name = in.get_bytes(in.remaining());
  if (!in.ok() || section.layout.name.empty()) fail(Code::kCorrupt, "head of a section is cut short");
  if ((flags & ~(kIncremental | kStamped | kSparse)) != 0 || width == 0 || width > kMaxWidth ||
      arrays > kMaxArrays || statistics > kMaxStatistics) {
    fail(Code::kCorrupt, "section of table ", quote(section.layout.name), ": flags ", flags, ", width ",
         width, ", state arrays ", arrays, ", statistics ", statistics);
  }
  section.incremental = (flags & kIncremental) != 0;
  section.layout.stamped = (flags & kStamped) != 0;
  section.layout.sparse = (flags & kSparse) != 0;
  section.layout.width = static_cast<int64_t>(width);
  section.layout.state_arrays = static_cast<int>(arrays);
  section.layout.statistics.resize(statistics);
  return section;
}

size_t rows_of_a_block(const TableLayout& layout) {
  // With this size a byte plane is one block of zstd, and a merge of all partitions takes some 40 MB.
  constexpr uint64_t kBlockBytes = 512 << 10;
  return std::max<uint64_t>(1, kBlockBytes / layout.row_bytes());
}

// Differences of ascending keys are smaller than the keys, so that more of their byte planes are zeros,
// which compress to nothing.
void write_keys(ChunkWriter& writer, uint32_t id, std::span<const uint64_t> keys) {
  std::vector<uint64_t> differences(keys.size());
  uint64_t last = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    PS_CHECK(i == 0 || keys[i] > last);
    differences[i] = keys[i] - last;
    last = keys[i];
  }
  writer.add(id, as_bytes(differences), sizeof(uint64_t));
}

void write_rows(ChunkWriter& writer, const RowBlock& rows) {
  write_keys(writer, kKeysChunk, rows.keys);
  writer.add(kValuesChunk, as_bytes(rows.values), sizeof(float));
  if (!rows.stamps.empty()) writer.add(kStampsChunk, as_bytes(rows.stamps), sizeof(uint32_t));
  if (!rows.statistics.empty()) writer.add(kStatisticsChunk, as_bytes(rows.statistics), sizeof(float));
}

// Adds the differences up.  A difference of 0, or one that makes the sum overflow, means that keys do not
// ascend; so the caller may rely on their order.
void read_keys(const ChunkReader& reader, size_t chunk, ChunkBuffers& buffers, std::vector<uint64_t>& keys) {
  const ChunkInfo& info = reader.chunks()[chunk];
  const uint64_t count = info.raw_bytes / sizeof(uint64_t);
  if (count == 0) reader.fail_chunk(chunk, "no key");
  read_array(reader, chunk, info.id, count, buffers, keys);
  for (size_t i = 1; i < keys.size(); ++i) {
    if (keys[i] == 0 || keys[i] > UINT64_MAX - keys[i - 1]) reader.fail_chunk(chunk, "keys do not ascend");
    keys[i] += keys[i - 1];
  }
}

// Keys ascend, so the last one tells whether all are in bounds.  A key in a wrong partition would be given
// to a table that another shard has.
static void check_keys(const ChunkReader& reader, size_t chunk, const Section& section,
                       std::span<const uint64_t> keys) {
  const TableLayout& layout = section.layout;
  if ((layout.rows > 0 || !layout.sparse) && keys.back() >= layout.rows) {
    reader.fail_chunk(chunk, cat("key ", keys.back(), " is not below ", layout.rows));
  }
  if (!layout.sparse) return;
  for (uint64_t key : keys) {
    if (key_partition(key) == section.partition) continue;
    reader.fail_chunk(chunk, cat("key ", key, " is not of partition ", section.partition));
  }
}

// `rows` still has the keys of the block before when this begins, so that their order is checked from block
// to block.  The number of keys tells the length of all other chunks of the block.
void read_rows(const ChunkReader& reader, size_t& chunk, const Section& section, ChunkBuffers& buffers,
               RowBlock& rows) {
  const TableLayout& layout = section.layout;
  const bool begins = rows.keys.empty();
  const uint64_t last = begins ? 0 : rows.keys.back();
  const size_t keys_chunk = chunk++;
  read_keys(reader, keys_chunk, buffers, rows.keys);
  if (!begins && rows.keys.front() <= last) reader.fail_chunk(keys_chunk, "keys do not ascend");
  check_keys(reader, keys_chunk, section, rows.keys);
  const uint64_t count = rows.keys.size();
  read_array(reader, chunk++, kValuesChunk, count * static_cast<uint64_t>(layout.values()), buffers,
             rows.values);
  rows.stamps.clear();
  if (layout.stamped) read_array(reader, chunk++, kStampsChunk, count, buffers, rows.stamps);
  rows.statistics.clear();
  if (layout.statistics.empty()) return;
  read_array(reader, chunk++, kStatisticsChunk, count * layout.statistics.size(), buffers, rows.statistics);
}

}  // namespace ps
