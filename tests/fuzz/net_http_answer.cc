// Bytes that come to the HTTP client, in two pieces and then the end: an answer, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "net/http/http_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  ps::HttpAnswerParser parser(1024, 4096);
  try {
    parser.parse(all.substr(0, size / 2));
    if (!parser.done()) parser.parse(all.substr(size / 2));
    if (!parser.done()) parser.end();
    PS_CHECK(parser.take().body.size() <= 4096);
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() == ps::Code::kData || error.code() == ps::Code::kUnavailable);
  }
  return 0;
}
