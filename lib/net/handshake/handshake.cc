#include "net/handshake/handshake.h"

#include <cstring>

#include "base/hash.h"
#include "net/frame.h"

namespace ps {

bool read_all(Stream& stream, std::span<char> bytes, size_t& done) {
  while (done < bytes.size()) {
    const MutableBytes rest = bytes.subspan(done);
    const IoResult result = stream.read({&rest, 1});
    if (result.blocked()) return false;
    if (result.error != 0) throw io_error(result.error);
    if (result.ended()) fail(Code::kUnavailable, "closed by the peer before it has proven who it is");
    done += result.bytes;
  }
  return true;
}

bool write_all(Stream& stream, std::span<const char> bytes, size_t& done) {
  while (done < bytes.size()) {
    const ConstBytes rest = bytes.subspan(done);
    const IoResult result = stream.write({&rest, 1});
    if (result.blocked()) return false;
    if (result.error != 0) throw io_error(result.error);
    done += result.bytes;
  }
  return true;
}

bool begins_frame(std::span<const char> bytes) {
  uint32_t magic = 0;
  if (bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == kFrameMagic;
}

std::string notice_frame(const Error& reason) {
  const std::string body = encode_error(reason);
  FrameHeader header{.type = kFrameNotice, .flags = kFlagError};
  header.body_bytes = body.size();
  header.body_checksum = hash_bytes(body);
  std::string bytes(kFrameHeaderBytes, '\0');
  encode_header(header, std::span<char, kFrameHeaderBytes>(bytes));
  return bytes + body;
}

}  // namespace ps
