// The examples of ps-wire(5), and the bytes of a frame as the page prints them.  Used by the tests of messages, which
// compile the page's path in as PS_WIRE_PAGE.
#ifndef PS_TESTS_SUPPORT_WIRE_PAGE_H_
#define PS_TESTS_SUPPORT_WIRE_PAGE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "net/frame.h"

namespace ps {

// The display of `page` that follows `.\" EXAMPLE name`.
inline std::string page_example(const std::string& page, const std::string& name) {
  const std::string begin = ".\\\" EXAMPLE " + name + "\n.Bd -literal -offset indent\n";
  const size_t at = page.find(begin);
  if (at == std::string::npos) return "no such example";
  const size_t first = at + begin.size();
  return page.substr(first, page.find(".Ed\n", first) - first);
}

// Two hexadecimal digits a byte, 16 bytes a line.
inline std::string hex_lines(std::string_view bytes) {
  constexpr size_t kBytesPerLine = 16;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
    out += i % kBytesPerLine == kBytesPerLine - 1 || i + 1 == bytes.size() ? '\n' : ' ';
  }
  return out;
}

// The frame of this payload, whose sizes and checksum are filled in.
inline std::string frame_bytes(FrameHeader header, const Payload& payload) {
  header.body_bytes = payload.size();
  header.body_checksum = payload.checksum();
  std::array<char, kFrameHeaderBytes> bytes;
  encode_header(header, bytes);
  std::string out(bytes.data(), bytes.size());
  out.append(payload.head.data(), payload.head.size());
  for (ConstBytes part : payload.parts) out.append(part.data(), part.size());
  return out;
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_WIRE_PAGE_H_
