#include "data/source.h"

#include <algorithm>
#include <cstring>

#include "data/decode.h"

namespace ps {

// Reads as many first bytes of a file as it takes to choose a decoder.
static std::string read_head(RawFile& raw) {
  std::string head;
  while (decoder_needs_more(head)) {
    char bytes[4];
    size_t got = raw.read(bytes, sizeof bytes - head.size());
    if (got == 0) break;
    head.append(bytes, got);
  }
  return head;
}

ByteSource::ByteSource(const InputFile& file, const SourceContext& context)
    : name_(std::make_shared<const std::string>(file.name())),
      raw_(std::make_unique<RawFile>(file, context)) {}

ByteSource::~ByteSource() = default;

size_t ByteSource::read(char* out, size_t size) {
  if (peeked_used_ < peeked_.size()) {
    size_t part = std::min(size, peeked_.size() - peeked_used_);
    std::memcpy(out, peeked_.data() + peeked_used_, part);
    peeked_used_ += part;
    return part;
  }
  if (!decoder_) decoder_ = make_decoder(read_head(*raw_));
  return decoder_->read(*raw_, out, size);
}

bool ByteSource::ready() {
  return peeked_used_ < peeked_.size() || (decoder_ && decoder_->pending()) || raw_->ready();
}

// Collects bytes by read(), which gives those of an earlier peek first: so a second peek sees them again.
std::string_view ByteSource::peek(bool (*enough)(std::string_view)) {
  std::string head;
  while (!enough(head)) {
    size_t before = head.size();
    head.resize(before + (1 << 16));
    size_t got = read(head.data() + before, head.size() - before);
    head.resize(before + got);
    if (got == 0) break;
  }
  peeked_ = std::move(head);
  peeked_used_ = 0;
  return peeked_;
}

}  // namespace ps
