// Decoders of compressed files.  Used by ByteSource alone.
#ifndef PS_DATA_DECODE_H_
#define PS_DATA_DECODE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "data/raw_file.h"

namespace ps {

// Decompresses stored bytes; there is one for plain bytes, one for gzip, one for zstd.
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
