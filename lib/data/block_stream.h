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

// One thread at a time.
class BlockStream {
 public:
  // `options` must outlive it.
  BlockStream(std::vector<InputFile> files, const SourceContext& context, const DataOptions& options)
      : files_(std::move(files)), context_(context), options_(options) {}

  // Returns the first bytes of the first file that is not empty, at least its first line, and sets `name` to
  // that file.  Blocks until they have arrived.  Returns no bytes when all files are empty.  To be called
  // before the first next().
  std::string_view head(std::string& name);

  void set_format(const FormatEntry& format) { format_ = &format; }

  // False after the last block of the last file.  Throws what sources and splitters throw.
  bool next(Block& block);

 private:
  // Opens the next file; false when there is none.
  bool open();

  const std::vector<InputFile> files_;
  const SourceContext context_;
  const DataOptions& options_;
  const FormatEntry* format_ = nullptr;
  size_t next_file_ = 0;
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<Splitter> splitter_;  // splits source_; null until the first block is asked for
};

}  // namespace ps

#endif  // PS_DATA_BLOCK_STREAM_H_
