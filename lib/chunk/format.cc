#include "chunk/format.h"

#include <cstdio>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

namespace ps {

namespace chunk_internal {

std::string encode_header(const ChunkFileKind& kind) {
  PS_CHECK(kind.name.size() <= 8);
  std::string out(kHeaderMagic);
  out += kind.name;
  out.append(8 - kind.name.size(), '\0');
  put(out, kind.oldest_reader);
  put(out, kind.version);
  put(out, hash_bytes(out));
  return out;
}

std::string encode_head(const ChunkInfo& chunk) {
  std::string out;
  put(out, chunk.id);
  put(out, chunk.flags);
  put(out, chunk.raw_bytes);
  put(out, chunk.stored_bytes);
  return out;
}

// The offset is the seed of the head's checksum, and that is the seed of the chunk's: a chunk at another
// place, or with another head, has another checksum.
uint64_t chunk_checksum(const ChunkInfo& chunk, std::string_view stored) {
  return hash_bytes(stored, hash_bytes(encode_head(chunk), chunk.offset));
}

std::string encode_table(const std::vector<ChunkInfo>& chunks) {
  std::string out;
  out.reserve(chunks.size() * kTableEntryBytes);
  for (const ChunkInfo& chunk : chunks) {
    put(out, chunk.offset);
    out += encode_head(chunk);
    put(out, chunk.checksum);
  }
  return out;
}

std::string encode_footer(uint64_t table_offset, uint64_t file_bytes, uint64_t seed) {
  std::string out;
  put(out, table_offset);
  put(out, file_bytes);
  put(out, hash_bytes(out, seed));
  out += kFooterMagic;
  return out;
}

}  // namespace chunk_internal

// The bit kOptionalChunk is no part of the letters.
std::string chunk_name(uint32_t id) {
  std::string letters;
  put(letters, id & ~kOptionalChunk);
  return quote(letters);
}

std::string checksum_text(uint64_t checksum) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(checksum));
  return text;
}

}  // namespace ps
