// ChunkReader: reads a chunk file, and uses no byte before its checksum has been verified.  Used by
// checkpoints.
#ifndef PS_CHUNK_CHUNK_READER_H_
#define PS_CHUNK_CHUNK_READER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chunk/format.h"

namespace ps {

// Memory of one reading thread, kept from chunk to chunk.
class ChunkBuffers {
 public:
  ChunkBuffers();
  ~ChunkBuffers();
  ChunkBuffers(ChunkBuffers&&) noexcept;

 private:
  friend class ChunkReader;
  struct State;
  std::unique_ptr<State> state_;
};

// Constant after construction: any threads may read.  Damage throws kCorrupt "path: chunk 3 at offset 4096:
// reason".
class ChunkReader {
 public:
  // Checks header, table and footer, and that the chunks of the table fill the file.  Throws kUsage when the
  // file cannot be opened, kCorrupt when it is damaged, of another kind, or needs a newer reader than
  // `kind.version`.
  ChunkReader(const std::string& path, const ChunkFileKind& kind);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<ChunkInfo>& chunks() const { return chunks_; }
  ChunkFileSum sum() const { return sum_; }

  // The raw bytes of chunk number `index`, good until `buffers` are used again.
  std::string_view read(size_t index, ChunkBuffers& buffers) const;

  // The same into the caller's memory, which has room for chunks()[index].raw_bytes.
  void read(size_t index, ChunkBuffers& buffers, char* out) const;

  // Asks the system to read the file into its cache in the background.
  void read_ahead() const;

  // Reads chunks `begin` to `end` ahead into `buffers`, past the system's cache.  The caller then reads them
  // with `buffers`, once and in order.
  void read_ahead(size_t begin, size_t end, ChunkBuffers& buffers) const;

  // Checks the stored bytes against their checksum without unpacking them.
  void verify(size_t index, ChunkBuffers& buffers) const;

  // Throws kCorrupt about chunk number `index`.
  [[noreturn]] void fail_chunk(size_t index, const std::string& what) const;

  // To be called for a chunk whose id the caller does not know: throws unless the id is marked as optional.
  void skip_unknown(size_t index) const;

 private:
  void read_bytes(uint64_t offset, uint64_t size, char* out) const;
  std::string read_piece(uint64_t offset, uint64_t size) const;
  uint64_t check_header(const ChunkFileKind& kind) const;
  uint64_t check_table(uint64_t header_checksum);
  void check_entries(uint64_t end) const;
  void check_entry(size_t index, uint64_t end) const;
  [[noreturn]] void fail_at(uint64_t offset, const std::string& what) const;
  void read_unchecked(const ChunkInfo& chunk, ChunkBuffers& buffers, char* head, char* out) const;
  void read_stored(size_t index, ChunkBuffers& buffers, char* out) const;
  void unpack(size_t index, ChunkBuffers& buffers, char* out) const;

  const std::string path_;
  int file_;
  uint64_t file_bytes_ = 0;
  std::vector<ChunkInfo> chunks_;
  ChunkFileSum sum_;
};

}  // namespace ps

#endif  // PS_CHUNK_CHUNK_READER_H_
