#include "net/frame.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/hash.h"

namespace ps {

namespace {

constexpr uint32_t kLastCode = 12;  // those above Code's are of the layers above, who name them

constexpr size_t kCheckedBytes = kFrameHeaderBytes - sizeof(uint64_t);

// The header as it lies on the wire: no padding, and little-endian as base/bytes.h asserts.
struct WireHeader {
  uint32_t magic;
  uint16_t version, type;
  uint32_t flags, deadline_ms;
  uint64_t request_id, body_bytes, body_checksum, header_checksum;
};
static_assert(sizeof(WireHeader) == kFrameHeaderBytes &&
              offsetof(WireHeader, header_checksum) == kCheckedBytes);

uint64_t header_checksum(const char* header) {
  return hash_bytes({header, kCheckedBytes});
}

// Only answers come in pieces, and an error is whole.
bool has_legal_flags(const FrameHeader& header) {
  if ((header.flags & ~kKnownFlags) != 0) return false;
  return !header.is_piece() || (header.is_answer() && !header.is_error());
}

}  // namespace

void encode_header(const FrameHeader& header, std::span<char, kFrameHeaderBytes> out) {
  WireHeader wire{.magic = kFrameMagic,
                  .version = header.version,
                  .type = header.type,
                  .flags = header.flags,
                  .deadline_ms = header.deadline_ms,
                  .request_id = header.request_id,
                  .body_bytes = header.body_bytes,
                  .body_checksum = header.body_checksum,
                  .header_checksum = 0};
  wire.header_checksum = header_checksum(reinterpret_cast<const char*>(&wire));
  std::memcpy(out.data(), &wire, sizeof wire);
}

// The checks go from what cannot be a header at all to what another version may have written.  After the
// first three `header` is not set and nothing can be skipped; after a wrong version or flags its length is
// right, and the frame can be skipped.
HeaderFault decode_header(std::span<const char, kFrameHeaderBytes> bytes, FrameHeader& header) {
  WireHeader wire;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.magic != kFrameMagic) return HeaderFault::kMagic;
  if (wire.header_checksum != header_checksum(bytes.data())) return HeaderFault::kChecksum;
  if (wire.body_bytes > kMaxBodyBytes) return HeaderFault::kLength;
  header = {.version = wire.version,
            .type = wire.type,
            .flags = wire.flags,
            .deadline_ms = wire.deadline_ms,
            .request_id = wire.request_id,
            .body_bytes = wire.body_bytes,
            .body_checksum = wire.body_checksum};
  if (wire.version != kFrameVersion) return HeaderFault::kVersion;
  return has_legal_flags(header) ? HeaderFault::kNone : HeaderFault::kFlags;
}

bool begins_header(std::span<const char> bytes) {
  size_t size = std::min(bytes.size(), sizeof kFrameMagic);
  return size == 0 || std::memcmp(bytes.data(), &kFrameMagic, size) == 0;
}

Payload::Payload(std::string text) {
  auto owned = std::make_shared<const std::string>(std::move(text));
  parts.emplace_back(owned->data(), owned->size());
  keep = std::move(owned);
}

uint64_t Payload::size() const {
  uint64_t size = head.size();
  for (ConstBytes part : parts) size += part.size();
  return size;
}

// A body in one piece is hashed at once, which is faster than the hasher in pieces (base/hash.cc) and gives
// the same sum.
uint64_t Payload::checksum() const {
  if (parts.empty()) return hash_bytes(text_of(head.bytes()));
  if (parts.size() == 1 && head.size() == 0) return hash_bytes(text_of(parts[0]));
  ByteHasher hasher;
  hasher.update(text_of(head.bytes()));
  for (ConstBytes part : parts) hasher.update(text_of(part));
  return hasher.digest();
}

std::string encode_error(const Error& error) {
  std::string body;
  put(body, static_cast<uint32_t>(error.code()));
  body += error.message().substr(0, kMaxErrorBytes - body.size());
  return body;
}

// error := code:u32 message, written by encode_error.  Unknown codes and short bodies become kInternal.
Error decode_error(std::span<const char> body) {
  ByteReader reader(text_of(body));
  uint32_t code = reader.get<uint32_t>();
  const bool known = code >= static_cast<uint32_t>(Code::kInternal) && code <= kLastCode;
  if (!reader.ok() || !known) return Error(Code::kInternal, "an error that cannot be read");
  return Error(static_cast<Code>(code), std::string(reader.get_bytes(reader.remaining())));
}

}  // namespace ps
