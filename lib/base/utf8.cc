#include "base/utf8.h"

namespace ps {

namespace {

bool byte_within(char c, int low, int high) {
  const int byte = static_cast<unsigned char>(c);
  return byte >= low && byte <= high;
}

}  // namespace

// Returns the number of bytes of the character of two bytes or more at p, or 0 if there is none.  The
// second byte has a narrower range after some first bytes: this leaves out characters that are longer than
// they need to be (e0, f0), surrogates (ed), and numbers above U+10FFFF (f4).
int utf8_bytes(const char* p) {
  const int first = static_cast<unsigned char>(*p);
  if (first < 0xc2 || first > 0xf4) return 0;
  const int low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const int high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (!byte_within(p[1], low, high)) return 0;
  if (first < 0xe0) return 2;
  if (!byte_within(p[2], 0x80, 0xbf)) return 0;
  if (first < 0xf0) return 3;
  return byte_within(p[3], 0x80, 0xbf) ? 4 : 0;
}

// The zero behind a string is no byte of a character.
bool is_utf8(const std::string& text) {
  for (const char *p = text.c_str(), *end = p + text.size(); p < end;) {
    const int bytes = static_cast<signed char>(*p) >= 0 ? 1 : utf8_bytes(p);
    if (bytes == 0) return false;
    p += bytes;
  }
  return true;
}

}  // namespace ps
