// The frame, in which every message between processes travels (ps-wire(5)).  Used by connections, and by the
// test proxy, which cuts a stream at chosen places.
//
//   frame  := header body[body_bytes]
//   header := magic:u32 version:u16 type:u16 flags:u32 deadline_ms:u32 request_id:u64 body_bytes:u64
//             body_checksum:u64 header_checksum:u64                             48 bytes, little-endian
//
// body_checksum is XXH3 of the body, header_checksum XXH3 of the 40 bytes before it.  A header of another
// version has the same layout up to its checksum, so that an old program can tell a new one which version it
// speaks.  The body of a frame flagged as error is code:u32 message[...], UTF-8, up to kMaxErrorBytes.
#ifndef PS_NET_FRAME_H_
#define PS_NET_FRAME_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/buffer_pool.h"
#include "net/transport.h"

namespace ps {

// On the wire: never renumber.
inline constexpr uint32_t kFrameMagic = 0x314b5350;  // "PSK1"
inline constexpr uint16_t kFrameVersion = 1;
inline constexpr size_t kFrameHeaderBytes = 48;
inline constexpr uint64_t kMaxBodyBytes = uint64_t{1}
                                          << 32;  // for all types: a larger length is a damaged one
inline constexpr size_t kMaxErrorBytes = 4096;

// Types below kFirstUserType are net's own, those above the owner's.  An answer has its request's type.
inline constexpr uint16_t kFrameAlive = 1;   // a sign of life, without body and answer
inline constexpr uint16_t kFrameNotice = 2;  // an error that belongs to no request, with kFlagError
inline constexpr uint16_t kFirstUserType = 16;

inline constexpr uint32_t kFlagAnswer = 1;  // to the request of the same id
inline constexpr uint32_t kFlagError = 2;   // the body is an error
inline constexpr uint32_t kFlagPiece = 4;   // of an answer: more of it follows
inline constexpr uint32_t kKnownFlags = kFlagAnswer | kFlagError | kFlagPiece;

struct FrameHeader {
  uint16_t version = kFrameVersion;
  uint16_t type = 0;
  uint32_t flags = 0;
  uint32_t deadline_ms = 0;  // time left for the answer when it was sent; 0: no limit
  uint64_t request_id = 0;   // chosen by the client; 0: no answer is expected
  uint64_t body_bytes = 0;
  uint64_t body_checksum = 0;

  bool is_answer() const { return (flags & kFlagAnswer) != 0; }
  bool is_error() const { return (flags & kFlagError) != 0; }
  bool is_piece() const { return (flags & kFlagPiece) != 0; }
};

struct Frame {
  FrameHeader header;
  Buffer body;
};

void encode_header(const FrameHeader& header, std::span<char, kFrameHeaderBytes> out);

// The fault of a header.  Only after kVersion and kFlags is it known where the next frame begins.
enum class HeaderFault { kNone, kMagic, kChecksum, kLength, kVersion, kFlags };

// Fills `header` when the fault is none, kVersion or kFlags.
HeaderFault decode_header(std::span<const char, kFrameHeaderBytes> bytes, FrameHeader& header);

// Returns true when `bytes`, up to a header's, can be the beginning of one: tells a stranger by the first
// byte.
bool begins_header(std::span<const char> bytes);

// The body of a frame to be sent: `head`, then `parts` one after the other.  It is sent from its own memory,
// without a copy.
struct Payload {
  Payload() = default;
  explicit Payload(Buffer buffer) : head(std::move(buffer)) {}
  explicit Payload(std::string text);

  uint64_t size() const;
  uint64_t checksum() const;

  Buffer head;
  std::vector<ConstBytes> parts;
  std::shared_ptr<const void> keep;  // owns the memory of the parts until they are sent
};

// Encode an error as a body, and decode it.  Decoding never fails: a body that is no error becomes kInternal
// with a message that says so.
std::string encode_error(const Error& error);
Error decode_error(std::span<const char> body);

}  // namespace ps

#endif  // PS_NET_FRAME_H_
