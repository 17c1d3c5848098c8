// Characters and text in UTF-8, as RFC 3629 defines it.  Used by the readers of tables and JSON lines, and for all text that
// becomes a part of a job file.
#ifndef PS_BASE_UTF8_H_
#define PS_BASE_UTF8_H_

#include <string>

namespace ps {

// Returns the length in bytes of the character at p, which is not ASCII; 0: it is invalid.  Reads no byte behind the first
// zero from p on.
int utf8_bytes(const char* p);

// Returns true if all of the text is valid.
bool is_utf8(const std::string& text);

}  // namespace ps

#endif  // PS_BASE_UTF8_H_
