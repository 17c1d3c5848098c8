// The bodies of requests and answers that are numbers and texts.  The first byte chooses which.
#include <array>
#include <string>

#include "base/error.h"
#include "config/spec.h"
#include "ps/wire/checkpoint_messages.h"
#include "ps/wire/gather.h"
#include "ps/wire/hello.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_messages.h"
#include "support/gather_body.h"

namespace {

using Body = std::span<const char>;

std::string_view text_of_body(Body body) {
  return {body.data(), body.size()};
}

// Whatever is decoded can be encoded again, and is then decoded without an error.
constexpr std::array<void (*)(Body), 20> kDecoders = {
    [](Body body) { ps::decode_checkpoint_request(body); },
    [](Body body) { ps::encode_asked_checkpoint(ps::decode_asked_checkpoint(body)); },
    [](Body body) { ps::decode_shard_request(body); },
    [](Body body) {
      const std::string again = ps::encode_shard_answer(ps::decode_shard_answer(body));
      ps::decode_shard_answer(again);
    },
    [](Body body) {
      const std::string again = ps::encode_shard_slice(ps::decode_shard_slice(body));
      ps::decode_shard_slice(again);
    },
    [](Body body) { ps::decode_shard_bytes(body); },
    [](Body body) { ps::decode_absent(ps::encode_absent(ps::decode_absent(body))); },
    [](Body body) { ps::decode_row_report(ps::encode_row_report(ps::decode_row_report(body))); },
    [](Body body) { ps::decode_keys_request(ps::encode_keys_request(ps::decode_keys_request(body))); },
    [](Body body) {
      const ps::FoundKeys found = ps::decode_found_keys(body);
      ps::decode_found_keys(ps::encode_found_keys(found.more, found.cursor, found.keys));
    },
    [](Body body) { ps::decode_optimizers_request(body); },
    [](Body body) { ps::decode_chunk_request(ps::encode_chunk_request(ps::decode_chunk_request(body))); },
    [](Body body) { ps::encode_chunk_answer(ps::decode_chunk_answer(body)); },
    [](Body body) {
      const ps::GatherRequest request = ps::decode_gather(text_of_body(body));
      ps::decode_gather(ps::gather_body(request));
    },
    [](Body body) { ps::Welcome::spec().parse(ps::parse_json(text_of_body(body), "welcome"), "welcome"); },
    [](Body body) { ps::ServerPorts::spec().parse(ps::parse_json(text_of_body(body), "ports"), "ports"); },
    [](Body body) { ps::decode_error(body); },
    [](Body body) { ps::decode_work(ps::encode_work(ps::decode_work(body))); },
    [](Body body) {
      ps::decode_gathered_request(ps::encode_gathered_request(ps::decode_gathered_request(body)));
    },
    [](Body body) { ps::decode_run_end(ps::encode_run_end(ps::decode_run_end(body))); },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    kDecoders[data[0] % kDecoders.size()]({reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() != ps::Code::kInternal);
  }
  return 0;
}
