// The blocks of all inputs, one file after the other.  Used by BatchReader.
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

  // The first bytes of the first file that is not empty, with its first line; waits for them.  `name` is its
  // name. Empty when all files are.  Before the first next().
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
  std::unique_ptr<Splitter> splitter_;  // of source_, once blocks were asked for
};

}  // namespace ps

#endif  // PS_DATA_BLOCK_STREAM_H_
