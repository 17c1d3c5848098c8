// Bytes from a stranger, through a server and through a channel: no input may crash, hang, take memory beyond
// the budget, or come out as a frame that its checksums do not cover.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "net/channel.h"
#include "net/server.h"
#include "net/sim/sim_network.h"

namespace ps {
namespace {

constexpr uint64_t kBudget = 1 << 20;

class CheckingSession final : public Session {
 public:
  std::optional<uint64_t> max_body_bytes(uint16_t type) override {
    if (type == 19) return std::nullopt;
    return 4096;
  }
  void on_request(Frame frame, Responder& responder) override {
    PS_CHECK(frame.body.size() == frame.header.body_bytes && frame.body.size() <= 4096);
    PS_CHECK(hash_bytes({frame.body.data(), frame.body.size()}) == frame.header.body_checksum);
    if (frame.header.type == 18) fail(Code::kData, "no");
    responder.answer(Payload(std::move(frame.body)));
  }
};

struct NoEvents final : Stream::Events {
  void on_readable() override {}
  void on_writable() override {}
};

// Sends all of `bytes` and shuts down; what comes back is left.
void pour(SimNetwork& network, Stream& stream, std::string_view bytes) {
  NoEvents events;
  stream.set_events(&events);
  while (!bytes.empty()) {
    ConstBytes rest(bytes);
    IoResult result = stream.write({&rest, 1});
    if (result.error != 0 && !result.blocked()) break;
    if (result.blocked() && network.now() > std::chrono::seconds(1000)) break;  // nobody takes it
    bytes.remove_prefix(result.bytes);
    network.run_for(std::chrono::milliseconds(1));
  }
  stream.shutdown_write();
  network.run_for(std::chrono::seconds(100));
  stream.set_events(nullptr);
}

void attack_server(SimNetwork& network, std::string_view bytes) {
  SimHost &here = network.host("stranger"), &there = network.host("server");
  ServerOptions options;
  options.max_memory_bytes = kBudget;
  Server server(there, {"server", 1}, options,
                [](SessionLink) { return std::make_unique<CheckingSession>(); });
  std::unique_ptr<Stream> stream;
  auto attempt = here.connect({"server", 1}, std::chrono::seconds(1),
                              [&](std::unique_ptr<Stream> open, auto) { stream = std::move(open); });
  network.run_for(std::chrono::milliseconds(10));
  PS_CHECK(stream != nullptr);
  pour(network, *stream, bytes);
  PS_CHECK(server.num_connections() == 0);
  PS_CHECK(server.pool().bytes_in_use() == 0 && server.pool().bytes_kept() <= kBudget);
}

void attack_channel(SimNetwork& network, std::string_view bytes) {
  SimHost &here = network.host("client"), &there = network.host("stranger");
  std::unique_ptr<Stream> stream;
  auto listener = there.listen({"stranger", 2}, [&](std::unique_ptr<Stream> open) {
    if (!stream) stream = std::move(open);
  });
  BufferPool pool(kBudget);
  ChannelOptions options;
  options.give_up_after = std::chrono::seconds(1);
  options.max_answer_bytes = 4096;
  Channel channel(here, pool, listener->address(), options);
  int answers = 0;
  for (int i = 0; i < 3; ++i) {
    channel.request(16, Payload(), std::chrono::seconds(50), [&](Answer answer) {
      ++answers;
      if (!answer.error) PS_CHECK(answer.frame.body.size() <= 4096);
    });
  }
  network.run_for(std::chrono::milliseconds(10));
  PS_CHECK(stream != nullptr);
  pour(network, *stream, bytes);
  PS_CHECK(answers == 3 && channel.num_pending() == 0);
  PS_CHECK(pool.bytes_in_use() == 0);
}

// The same bytes with the checksums made right, as far as headers can be found: else no mutation gets past
// them.
std::string with_checksums(std::string bytes) {
  size_t at = 0;
  while (bytes.size() - at >= kFrameHeaderBytes) {
    FrameHeader header;
    std::memcpy(&header.version, &bytes[at + 4], 2);
    std::memcpy(&header.type, &bytes[at + 6], 2);
    std::memcpy(&header.flags, &bytes[at + 8], 4);
    std::memcpy(&header.deadline_ms, &bytes[at + 12], 4);
    std::memcpy(&header.request_id, &bytes[at + 16], 8);
    std::memcpy(&header.body_bytes, &bytes[at + 24], 8);
    size_t rest = bytes.size() - at - kFrameHeaderBytes;
    size_t body = std::min<uint64_t>(header.body_bytes, rest);
    header.body_checksum = hash_bytes({&bytes[at] + kFrameHeaderBytes, body});
    encode_header(header, std::span<char, kFrameHeaderBytes>(&bytes[at], kFrameHeaderBytes));
    at += kFrameHeaderBytes + body;
  }
  return bytes;
}

}  // namespace
}  // namespace ps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string& variant : {bytes, ps::with_checksums(bytes)}) {
    ps::SimNetwork network(size);
    network.set_default_link({.split = true});
    ps::attack_server(network, variant);
    ps::attack_channel(network, variant);
  }
  return 0;
}
