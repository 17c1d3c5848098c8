// RawFile: the stored bytes of an input.  Used by ByteSource and its decoders.
#ifndef PS_DATA_RAW_FILE_H_
#define PS_DATA_RAW_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "data/input.h"

namespace ps {

// An open file or pipe.  One owner thread.
class RawFile {
 public:
  RawFile(const InputFile& file, const SourceContext& context);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // Like ByteSource::read and ready, but for the stored bytes, before decompression.
  size_t read(char* out, size_t size);
  bool ready() const;

  const std::string& name() const { return name_; }

 private:
  // Blocks until a read would return at once.  Returns false when interrupted.
  bool wait() const;

  size_t read_held_head(char* out, size_t size);

  const std::string name_;
  const SourceContext context_;
  const bool may_wait_, owned_;
  const int descriptor_;
  const std::shared_ptr<const std::string> head_;  // bytes before those that are read; null: none
  size_t head_used_ = 0;
};

}  // namespace ps

#endif  // PS_DATA_RAW_FILE_H_
