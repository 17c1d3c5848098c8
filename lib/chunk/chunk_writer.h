// ChunkWriter: writes a chunk file from its beginning to its end, in bounded memory.  Used by checkpoints.
#ifndef PS_CHUNK_CHUNK_WRITER_H_
#define PS_CHUNK_CHUNK_WRITER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "chunk/format.h"

namespace ps {

// Options of writing chunk files, shared by all writers of a checkpoint.
struct ChunkWriting {
  FileSystem* files = &system_files();
  // Compression level of chunks that are not split into byte planes; chunks of byte planes have a fixed
  // level. 0: no chunk is compressed.
  int zstd_level = 1;

  // The writer calls this on its own thread before it writes `bytes`. The function may block to limit the
  // bandwidth, or yield to other threads.
  std::function<void(uint64_t bytes)> before_write = nullptr;
};

// One owner thread.  After an error of any call the file must be given up: more calls fail.
class ChunkWriter {
 public:
  // Makes the file.  Throws kUsage when it cannot be made; all others throw kExhausted when the disk is full,
  // kUnavailable on other errors.
  ChunkWriter(const std::string& path, const ChunkFileKind& kind, const ChunkWriting& writing);
  ~ChunkWriter();

  // Adds a chunk.  `planes` is the width of its numbers when they are to be split into byte planes, else 1.
  void add(uint32_t id, std::string_view raw, int planes = 1);

  // Writes table and footer, and syncs the file.
  ChunkFileSum finish();

  uint64_t bytes() const { return bytes_; }

 private:
  void write(std::string_view bytes);
  void write_chunk(uint32_t id, uint32_t flags, uint64_t raw_bytes, std::string_view stored);
  std::string_view compress(std::string_view raw, int planes);

  const std::string path_;
  const ChunkWriting writing_;
  std::unique_ptr<OutputFile> file_;  // null once given up or finished
  uint64_t bytes_ = 0;
  uint64_t header_checksum_ = 0;
  std::vector<ChunkInfo> chunks_;

  struct Compressor;
  std::unique_ptr<Compressor> compressor_;  // null: not compressed
};

}  // namespace ps

#endif  // PS_CHUNK_CHUNK_WRITER_H_
