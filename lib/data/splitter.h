// Splitters that formats share: of lines of text, and of parts of `records`.  Used by the formats.
#ifndef PS_DATA_SPLITTER_H_
#define PS_DATA_SPLITTER_H_

#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "data/block.h"
#include "data/source.h"

namespace ps {

// Returns the number of line ends in `text`.
uint64_t count_lines(std::string_view text);

// Splits text into blocks of whole lines, each ended by \n, without a byte order mark.  A block holds the lines
// that can be read without blocking, up to about kBlockBytes, so that lines of a slow pipe are not delayed.
// Batches do not depend on where blocks end.  One owner thread.
class LineSplitter : public Splitter {
 public:
  // Small enough to stay in the cache of the core that parses it.
  static constexpr size_t kBlockBytes = size_t{1} << 18;
  static constexpr size_t kMaxLineBytes = size_t{1} << 24;

  explicit LineSplitter(ByteSource& source) : source_(source) {}

  // Throws kData "file:line: …" when a line is longer than kMaxLineBytes; max_bad_lines does not cover such a
  // line.
  bool next(Block& block) override;

 private:
  // Reads more bytes behind the first `size` until they contain whole lines, and returns the size of these; 0
  // at the end.
  size_t fill(std::string& bytes, size_t& size);
  bool read_some(std::string& bytes, size_t& size);

  ByteSource& source_;
  uint64_t line_ = 1;
  std::string tail_;  // the beginning of the line in which the last block ended
  bool first_ = true, ended_ = false;
  std::exception_ptr fault_;  // an error behind the lines of the last block, to be thrown by the next call
};

// Splits a stream of `records` into its headers and chunks, heads included.  One owner thread.
class RecordsSplitter : public Splitter {
 public:
  explicit RecordsSplitter(ByteSource& source) : source_(source) {}

  // Throws kCorrupt "file: offset n: …".
  bool next(Block& block) override;

 private:
  // Appends `size` bytes to the block.  Returns false at the end of the file; throws kCorrupt when only some
  // of the bytes are there.
  bool append(Block& block, size_t size);
  bool next_part(Block& block);

  ByteSource& source_;
  uint64_t offset_ = 0;
  bool open_ = false;  // a stream has begun and has not ended
};

// FormatEntry::split of formats with one example a line.
std::unique_ptr<Splitter> split_lines(const DataOptions& data, ByteSource& source);

}  // namespace ps

#endif  // PS_DATA_SPLITTER_H_
