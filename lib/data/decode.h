// Raw files and their decompression.  Used by ByteSource alone.
#ifndef PS_DATA_DECODE_H_
#define PS_DATA_DECODE_H_

#include <memory>
#include <string>
#include <string_view>

#include "data/source.h"

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

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual size_t read(RawFile& raw, char* out, size_t size) = 0;

  // Returns true if the decoder holds bytes that it can hand out without reading from the file.
  virtual bool pending() const = 0;
};

// Returns the decoder for a file whose first bytes, already read, are `head`.
std::unique_ptr<Decoder> make_decoder(std::string head);

// Returns true if more bytes than `head` are needed to choose a decoder.
bool decoder_needs_more(std::string_view head);

}  // namespace ps

#endif  // PS_DATA_DECODE_H_
