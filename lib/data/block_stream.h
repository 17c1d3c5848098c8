// BlockStream: splits all inputs into blocks, one file after the other.  Used by BatchReader.
#ifndef PS_DATA_BLOCK_STREAM_H_
#define PS_DATA_BLOCK_STREAM_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/format.h"
#include "data/source.h"

namespace ps {

// One thread at a time may use it.
class BlockStream {
 public:
  // `options` must outlive it.
  BlockStream(std::vector<InputFile> files, const SourceContext& context, const DataOptions& options)
      : files_(std::move(files)), context_(context), options_(options) {}

  // Returns the first bytes of the first file that is not empty, with at least its first line, and sets `name`
  // to that file.  Blocks until they have arrived.  Returns no bytes if all files are empty.  Must be called
  // before the first next().
  std::string_view head(std::string& name);

  void set_format(const FormatEntry& format) { format_ = &format; }

  // Returns false after the last block of the last file.  Throws the errors of sources and splitters.
  bool next(Block& block);

 private:
  // Opens the next file; returns false if there is none.
  bool open();

  const std::vector<InputFile> files_;
  const SourceContext context_;
  const DataOptions& options_;
  const FormatEntry* format_ = nullptr;
  size_t next_file_ = 0;
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<Splitter> splitter_;  // splits source_; null before the first block
};

}  // namespace ps

#endif  // PS_DATA_BLOCK_STREAM_H_
