// Bytes that come to the HTTP server, in two pieces: parsing ends, and an answer can be made.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "net/http/http_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string all(reinterpret_cast<const char*>(data), size);
  ps::HttpRequestParser parser(1024);
  std::string bytes;
  for (const std::string& piece : {all.substr(0, size / 2), all.substr(size / 2)}) {
    bytes += piece;
    auto state = ps::HttpRequestParser::State::kRequest;
    while (!bytes.empty() && state == ps::HttpRequestParser::State::kRequest) state = parser.parse(bytes);
    if (state == ps::HttpRequestParser::State::kBad) {
      PS_CHECK(parser.refusal().status >= 400);
      return 0;
    }
    PS_CHECK(bytes.size() <= size);
    ps::http_response_text({.body = parser.request().path}, parser.head_only(), parser.keep_alive());
  }
  return 0;
}
