// Sources of bytes: files, lists, folders and standard input, plain or compressed.  Used by BatchReader.
#ifndef PS_DATA_SOURCE_H_
#define PS_DATA_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// Ends reads that block.  Any thread or signal handler may set it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void set();
  bool is_set() const { return set_.load(); }
  int descriptor() const { return descriptor_; }  // readable once set

 private:
  const int descriptor_;
  std::atomic<bool> set_{false};
};

// One input.  A stream (standard input, a pipe) can be read once and may be endless.
struct InputFile {
  std::string path;  // "-": standard input
  bool stream = false;
  uint64_t bytes = 0;  // stored size of a file

  std::string name() const { return path == "-" ? "standard input" : path; }
};

// Returns the inputs that `paths` name, in order: files; lists (*.list) of paths, one a line, relative to the
// list's folder, with blank lines and # comments; folders, whose files are taken in the order of their names,
// as are inner folders, without hidden files and lists; "-".  Throws kUsage for a path that does not exist.
std::vector<InputFile> expand_inputs(const std::vector<std::string>& paths);

// State that all sources of a reader share.
struct SourceContext {
  int stdin_descriptor = 0;  // the descriptor that "-" stands for
  const Interrupt* interrupt = nullptr;
  std::atomic<uint64_t>* bytes_read = nullptr;  // counts stored bytes, before decompression
  // The bytes of "-" that were read before; null: none.
  std::shared_ptr<const std::string> stdin_head = nullptr;
};

// Returns true if a read of `file` may block until more data arrive: never for a regular file, also if it is
// standard input.
bool may_wait(const InputFile& file, const SourceContext& context);

// Decompresses stored bytes; there is one for plain bytes, one for gzip, one for zstd.
class Decoder;
class RawFile;

// The bytes of one input, decompressed if its first bytes are those of gzip or zstd (members and frames may
// follow each other; skippable frames are skipped).  Memory is bounded for any input.  One owner thread.
class ByteSource {
 public:
  ByteSource(const InputFile& file, const SourceContext& context);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Blocks until there is at least one byte, and returns how many it has read: 0 at the end, and once
  // interrupted.  Throws kCorrupt "name: …" when compressed data are damaged or cut short, kUnavailable when
  // the system cannot read.
  size_t read(char* out, size_t size);

  // Returns false if read would block.
  bool ready();

  // Returns the first bytes without consuming them: as many as it takes to make enough(bytes) true, or all
  // there are.
  std::string_view peek(bool (*enough)(std::string_view));

  const std::shared_ptr<const std::string>& name() const { return name_; }

 private:
  std::shared_ptr<const std::string> name_;
  std::unique_ptr<RawFile> raw_;
  std::unique_ptr<Decoder> decoder_;
  std::string peeked_;  // bytes that peek has read and read() has not returned yet
  size_t peeked_used_ = 0;
};

}  // namespace ps

#endif  // PS_DATA_SOURCE_H_
