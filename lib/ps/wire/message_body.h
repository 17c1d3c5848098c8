// Helpers for decoding the bodies of messages, which may be damaged.  Used by the functions that decode messages.
#ifndef PS_PS_WIRE_MESSAGE_BODY_H_
#define PS_PS_WIRE_MESSAGE_BODY_H_

#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

[[noreturn]] inline void cut_short(std::string_view what) {
  fail(Code::kData, what, ": the body is cut short");
}

// Throws kData if `in` has bytes left, or if more bytes were read than it had.
inline void expect_end(const ByteReader& in, std::string_view what) {
  if (!in.ok()) cut_short(what);
  if (in.remaining() > 0) fail(Code::kData, what, ": ", in.remaining(), " bytes too many");
}

}  // namespace ps

#endif  // PS_PS_WIRE_MESSAGE_BODY_H_
