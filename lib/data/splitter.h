// Splitters that formats share: lines of text, and parts of `records`.
#ifndef PS_DATA_SPLITTER_H_
#define PS_DATA_SPLITTER_H_

#include <exception>
#include <memory>
#include <string>

#include "data/format.h"

namespace ps {

// Blocks of whole lines, each ended by \n, without a byte order mark.  A block holds what there is without
// waiting, up to about kBlockBytes, so that a slow pipe is not held back; where blocks end never shows in the
// batches.
class LineSplitter : public Splitter {
 public:
  // Small enough to stay in the cache of the core that parses it.
  static constexpr size_t kBlockBytes = size_t{1} << 18;
  static constexpr size_t kMaxLineBytes = size_t{1} << 24;

  explicit LineSplitter(ByteSource& source) : source_(source) {}

  // Throws kData "file:line: …" when a line is longer than kMaxLineBytes, whatever max_bad_lines says.
  bool next(Block& block) override;

 private:
  // Reads after the first `size` bytes until a block of whole lines is there, and returns their size: 0 at
  // the end.
  size_t fill(std::string& bytes, size_t& size);
  bool read_some(std::string& bytes, size_t& size);

  ByteSource& source_;
  uint64_t line_ = 1;
  std::string tail_;  // the line that the last block ended in
  bool first_ = true, ended_ = false;
  std::exception_ptr fault_;  // met after the lines of the last block
};

// A part of a stream of `records`, head included: headers and chunks.
class RecordsSplitter : public Splitter {
 public:
  explicit RecordsSplitter(ByteSource& source) : source_(source) {}

  // Throws kCorrupt "file: offset n: …".
  bool next(Block& block) override;

 private:
  // Appends `size` bytes; false at the end of the file when none is there, kCorrupt when too few are.
  bool take(Block& block, size_t size);
  bool next_part(Block& block);

  ByteSource& source_;
  uint64_t offset_ = 0;
  bool open_ = false;  // a stream has begun and not ended
};

// For FormatEntry::split, of formats with one example a line.
std::unique_ptr<Splitter> split_lines(const DataOptions& data, ByteSource& source);

}  // namespace ps

#endif  // PS_DATA_SPLITTER_H_
