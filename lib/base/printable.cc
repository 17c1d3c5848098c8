#include "base/printable.h"

#include <cstdio>

namespace ps {

// Continuation bytes of UTF-8 are copied unchecked.  The control characters U+0080 to U+009F are two bytes in
// UTF-8, the first of which is 0xc2.
std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool wide_control = c == 0xc2 && next >= 0x80 && next < 0xa0;
    if ((c >= 0x20 || c == '\n' || c == '\t') && c != 0x7f && !wide_control) {
      out += text[i];
      continue;
    }
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\x%02x", c);
    out += buffer;
    if (!wide_control) continue;
    std::snprintf(buffer, sizeof buffer, "\\x%02x", next);
    out += buffer;
    ++i;
  }
  return out;
}

}  // namespace ps
