// Encodes blocks of rows as chunks.  Used by readers and writers of checkpoint files.
//
//   section := SECT block* GONE*
//   SECT    := partition:u32 flags:u32 width:u64 state_arrays:u32 statistics:u32 rows:u64 name
//              flags: 1 only what differs from the base, 2 rows are stamped, 4 the table is sparse
//   block   := KEYS VALS STMP? STAT?
//   KEYS    := the first key:u64, then differences:u64, none of which is 0
//   VALS    := f32[keys, width (1 + state_arrays)]: weights, then state arrays
//   STMP    := u32[keys]              of stamped rows
//   STAT    := f32[keys, statistics]  where there are any
//   GONE    := keys, as in KEYS, that the base has and that are gone
//
// Keys ascend through the blocks of a section, and through its GONE chunks.
#ifndef PS_CHECKPOINT_ROW_CHUNKS_H_
#define PS_CHECKPOINT_ROW_CHUNKS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/table_layout.h"
#include "chunk/chunk_reader.h"
#include "chunk/chunk_writer.h"
#include "table/row_block.h"

namespace ps {

inline constexpr ChunkFileKind kCheckpointFileKind{"ckpt", 1, 1};

inline constexpr uint32_t kSectionChunk = chunk_id("SECT"), kKeysChunk = chunk_id("KEYS"),
                          kValuesChunk = chunk_id("VALS"), kStampsChunk = chunk_id("STMP"),
                          kStatisticsChunk = chunk_id("STAT"), kGoneChunk = chunk_id("GONE"),
                          kStateChunk = chunk_id("BLOB");

// The contents of SECT.
struct Section {
  TableLayout layout;  // statistics without their names
  uint32_t partition = 0;
  bool incremental = false;
};

std::string encode_section(const Section& section);

// Throws kCorrupt without file and offset.
Section decode_section(std::string_view bytes);

// Returns the number of rows of a block of about half a megabyte.
size_t rows_of_a_block(const TableLayout& layout);

void write_keys(ChunkWriter& writer, uint32_t id, std::span<const uint64_t> keys);
void write_rows(ChunkWriter& writer, const RowBlock& rows);

// Replaces `rows`, which must be empty or the block before, by the block that begins at chunk number `chunk`,
// and advances `chunk` past it.  Throws kCorrupt "file: chunk 3 at offset 4096: …".
void read_rows(const ChunkReader& reader, size_t& chunk, const Section& section, ChunkBuffers& buffers,
               RowBlock& rows);

void read_keys(const ChunkReader& reader, size_t chunk, ChunkBuffers& buffers, std::vector<uint64_t>& keys);

}  // namespace ps

#endif  // PS_CHECKPOINT_ROW_CHUNKS_H_
