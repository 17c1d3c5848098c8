// ScriptPeer: one connection to a shard that sends any frame at any time, and sees whether the answers are an
// honest server's.  Used by ShardPeers.
#ifndef PS_TESTS_FUZZ_SCRIPT_PEER_H_
#define PS_TESTS_FUZZ_SCRIPT_PEER_H_

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "net/frame.h"
#include "net/sim/sim_network.h"

namespace ps {

// Answers are read and dropped, unless it does not read; an error that is a mistake of the server's ends the program.
class ScriptPeer final : private Stream::Events {
 public:
  ScriptPeer(SimHost& host, const Address& to) {
    attempt_ = host.connect(to, std::chrono::seconds(5),
                            [this](std::unique_ptr<Stream> stream, std::optional<Error>) {
                              stream_ = std::move(stream);
                              if (!stream_) return;
                              stream_->set_events(this);
                              if (reads_) stream_->wait_readable();
                              write();
                            });
  }

  void send(uint16_t type, std::string_view body) {
    constexpr size_t kMostUnsent = 1 << 20;
    if (unsent_.size() > kMostUnsent) return;
    FrameHeader header{.type = type, .request_id = ++num_sent_, .body_bytes = body.size()};
    header.body_checksum = hash_bytes(body);
    std::array<char, kFrameHeaderBytes> bytes;
    encode_header(header, bytes);
    unsent_.append(bytes.data(), bytes.size()).append(body);
    write();
  }

  // Bytes that need not be a frame.
  void send_bytes(std::string_view bytes) {
    unsent_ += bytes;
    write();
  }

  void read(bool reads) {
    if (std::exchange(reads_, reads) != reads && reads && stream_) stream_->wait_readable();
  }

 private:
  void on_readable() override {
    std::array<char, 1 << 14> chunk;
    while (reads_) {
      const MutableBytes into(chunk);
      const IoResult result = stream_->read({&into, 1});
      if (result.blocked()) return stream_->wait_readable();
      if (result.error != 0 || result.ended()) return;
      take({chunk.data(), result.bytes});
    }
  }

  void on_writable() override { write(); }

  void write() {
    while (stream_ && !unsent_.empty()) {
      const ConstBytes rest(unsent_.data(), unsent_.size());
      const IoResult result = stream_->write({&rest, 1});
      if (result.blocked()) return stream_->wait_writable();
      if (result.error != 0) return unsent_.clear();
      unsent_.erase(0, result.bytes);
    }
  }

  // An answer without an error is dropped.
  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (to_skip_ > 0) {
        const uint64_t skipped = std::min<uint64_t>(to_skip_, bytes.size());
        bytes.remove_prefix(skipped);
        to_skip_ -= skipped;
        continue;
      }
      received_ += bytes.front();
      bytes.remove_prefix(1);
      if (received_.size() < kFrameHeaderBytes) continue;
      FrameHeader header;
      const std::span<const char, kFrameHeaderBytes> head(received_.data(), kFrameHeaderBytes);
      PS_CHECK(decode_header(head, header) == HeaderFault::kNone);
      if (!header.is_error()) {
        to_skip_ = header.body_bytes;
        received_.clear();
      } else if (received_.size() == kFrameHeaderBytes + header.body_bytes) {
        const Error error = decode_error(std::span(received_).subspan(kFrameHeaderBytes));
        PS_CHECK(error.code() != Code::kInternal);
        received_.clear();
      }
    }
  }

  std::unique_ptr<ConnectAttempt> attempt_;
  std::unique_ptr<Stream> stream_;
  std::string unsent_, received_;
  uint64_t to_skip_ = 0, num_sent_ = 0;
  bool reads_ = true;
};

}  // namespace ps

#endif  // PS_TESTS_FUZZ_SCRIPT_PEER_H_
