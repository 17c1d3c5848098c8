// Messages between ranks: a decoded message is encoded and decoded again without a change.
#include "base/error.h"
#include "collective/net/messages.h"

namespace {

template <class Decode, class Encode>
void read_back(std::string_view body, Decode decode, Encode encode) {
  try {
    const auto message = decode(body);
    PS_CHECK(decode(encode(message)) == message);
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() == ps::Code::kUsage);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  read_back(body, ps::decode_rank_hello, ps::encode_rank_hello);
  read_back(body, ps::decode_roster, ps::encode_roster);
  read_back(body, ps::decode_present, ps::encode_present);
  return 0;
}
