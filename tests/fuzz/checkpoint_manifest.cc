// The manifest of a checkpoint: as it is, and with the checksum that it should have.
#include <string>

#include "base/error.h"
#include "checkpoint/manifest.h"

static void decode(const std::string& text) {
  try {
    ps::encode_manifest(ps::decode_manifest(text, "manifest"));
  } catch (const ps::Error&) {
    // Refused, as most inputs are.
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  decode(text);
  const std::string body = text.substr(0, text.rfind("  \"checksum\": \""));
  auto ended = [&](uint64_t checksum) {
    return body + "  \"checksum\": \"" + ps::checksum_text(checksum) + "\"\n}\n";
  };
  decode(ended(ps::manifest_checksum(ended(0))));
  return 0;
}
