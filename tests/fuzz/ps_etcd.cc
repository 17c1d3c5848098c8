// Answers of etcd, or of an impostor: each decoder accepts them or reports bad data.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/byte_text.h"
#include "base/error.h"
#include "membership/etcd_client.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view answer(reinterpret_cast<const char*>(data), size);
  const std::function<void()> decoders[] = {
      [&] {
        for (const ps::EtcdEntry& entry : ps::decode_etcd_list(answer)) {
          PS_CHECK(ps::from_base64(ps::to_base64(entry.value)) == entry.value);
        }
      },
      [&] { ps::decode_etcd_commit(answer); },
      [&] { ps::decode_etcd_grant(answer); },
      [&] { ps::decode_etcd_keep_alive(answer, 7587875920134); },
  };
  for (const auto& decode : decoders) {
    try {
      decode();
    } catch (const ps::Error& error) {
      PS_CHECK(error.code() == ps::Code::kData);
    }
  }
  return 0;
}
