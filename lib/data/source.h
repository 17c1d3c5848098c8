// ByteSource: the bytes of an input, decompressed.  Used by BatchReader.
#ifndef PS_DATA_SOURCE_H_
#define PS_DATA_SOURCE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "data/input.h"

namespace ps {

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
