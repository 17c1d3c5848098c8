#include "checkpoint/model/npy.h"

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

//   header := "\x93NUMPY" 1:u8 0:u8 text_bytes:u16 text      text: a dictionary, blanks, and a newline
// The blanks make the header a multiple of 64 bytes long, so that an array mapped into memory is aligned.
std::string npy_header(const char* type, const std::vector<uint64_t>& shape) {
  constexpr size_t kPrefixBytes = 10, kAlignment = 64;
  std::string text = cat("{'descr': '", type, "', 'fortran_order': False, 'shape': (");
  for (uint64_t extent : shape) text += cat(extent, ", ");
  text += "), }";
  text.append(kAlignment - 1 - (kPrefixBytes + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string out = "\x93NUMPY";
  put(out, uint8_t{1});
  put(out, uint8_t{0});
  put(out, static_cast<uint16_t>(text.size()));
  return out + text;
}

const char* npy_type(NumberType type, std::string_view format) {
  if (type == NumberType::kBf16) {
    fail(Code::kUsage, "format ", format, ": numpy has no bf16; use f16 or f32");
  }
  return type == NumberType::kF32 ? kNpyFloats : type == NumberType::kF16 ? "<f2" : "|i1";
}

}  // namespace ps
