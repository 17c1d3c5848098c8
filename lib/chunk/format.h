// The layout of chunk files, which chunk_writer.h writes and chunk_reader.h reads.  ps-checkpoint(5).
//
//   file   := header chunk* table footer
//   header := "PSCHUNKS" kind:char[8] oldest_reader:u32 writer:u32 checksum:u64
//   chunk  := id:u32 flags:u32 raw_bytes:u64 stored_bytes:u64 checksum:u64 bytes[stored_bytes]
//   table  := a chunk with id "TABL": for each chunk offset:u64 id:u32 flags:u32 raw_bytes:u64
//   stored_bytes:u64
//             checksum:u64
//   footer := table_offset:u64 file_bytes:u64 checksum:u64 "PSCHUNKE"
//
// Numbers are little-endian, checksums are XXH3 of 64 bits.  The header's checksum covers the bytes before
// it.  A chunk's checksum covers its stored bytes, and is seeded with the checksum of the chunk's first 24
// bytes, which is seeded with the chunk's offset: a chunk copied to another offset of the file is therefore
// refused.  The footer's checksum covers its first 16 bytes, and is seeded with the xor of the checksums of
// header and table: since the table holds all other checksums, it identifies the whole file.
#ifndef PS_CHUNK_FORMAT_H_
#define PS_CHUNK_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// Makes a chunk's id from four letters.
constexpr uint32_t chunk_id(const char (&letters)[5]) {
  return static_cast<uint32_t>(letters[0]) | static_cast<uint32_t>(letters[1]) << 8 |
         static_cast<uint32_t>(letters[2]) << 16 | static_cast<uint32_t>(letters[3]) << 24;
}

// A reader skips a chunk with an unknown id if the id has this bit, and refuses the file otherwise.
inline constexpr uint32_t kOptionalChunk = 0x8000'0000;

// Flags of a chunk: on disk, never renumber.
inline constexpr uint32_t kZstdChunk = 1;    // bytes are one zstd frame of raw_bytes
inline constexpr uint32_t kPlanesShift = 8;  // bits 8 to 11: how many byte planes raw bytes are split into
inline constexpr uint32_t kPlanesMask = 0xf;
inline constexpr uint32_t kKnownChunkFlags = kZstdChunk | kPlanesMask << kPlanesShift;

// The largest chunk that a reader accepts, so that a damaged or hostile file cannot make it allocate without
// bound.  No writer makes larger chunks, except for rows of tens of millions of numbers.
inline constexpr uint64_t kMaxChunkBytes = 256 << 20;

// The kind and version that the header of a file names.
struct ChunkFileKind {
  std::string_view name;   // at most 8 bytes
  uint32_t version;        // the format version of this writer
  uint32_t oldest_reader;  // the lowest version that can read the file
};

struct ChunkInfo {
  uint64_t offset;
  uint32_t id, flags;
  uint64_t raw_bytes, stored_bytes;
  uint64_t checksum;
};

// Size and checksum of a finished file.  Files with the same checksum have the same content.
struct ChunkFileSum {
  uint64_t bytes = 0;
  uint64_t checksum = 0;

  bool operator==(const ChunkFileSum&) const = default;
};

namespace chunk_internal {

inline constexpr std::string_view kHeaderMagic = "PSCHUNKS", kFooterMagic = "PSCHUNKE";
inline constexpr uint64_t kHeaderBytes = 32, kChunkHeadBytes = 32, kFooterBytes = 32, kTableEntryBytes = 40;
inline constexpr uint32_t kTableId = chunk_id("TABL");

// The header, and the checksum that ends it.
std::string encode_header(const ChunkFileKind& kind);

// The head of a chunk, without its checksum.
std::string encode_head(const ChunkInfo& chunk);

// Computes a chunk's checksum from its stored bytes and its other fields.
uint64_t chunk_checksum(const ChunkInfo& chunk, std::string_view stored);

std::string encode_table(const std::vector<ChunkInfo>& chunks);
std::string encode_footer(uint64_t table_offset, uint64_t file_bytes, uint64_t seed);

}  // namespace chunk_internal

// Returns the id as text for messages: "VALS"; bytes that are not letters are written as \xNN.
std::string chunk_name(uint32_t id);

// 16 hexadecimal digits.
std::string checksum_text(uint64_t checksum);

}  // namespace ps

#endif  // PS_CHUNK_FORMAT_H_
