// ShardSession: one connection of a trainer, or of a reader.  Made by ShardServer.
#ifndef PS_PS_SERVER_SHARD_SESSION_H_
#define PS_PS_SERVER_SHARD_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "net/server.h"
#include "ps/server/shard_messages.h"

namespace ps {

// All calls are made on the loop's thread.
class ShardSession final : public Session {
 public:
  explicit ShardSession(ShardPeer peer) : peer_(std::make_shared<ShardPeer>(std::move(peer))) {}

  std::optional<uint64_t> max_body_bytes(uint16_t type) override {
    const ShardMessage* message = find_shard_message(type);
    return message != nullptr ? std::optional(message->max_body_bytes) : std::nullopt;
  }

  void on_request(Frame frame, Responder& responder) override {
    const ShardMessage* message = find_shard_message(frame.header.type);
    if (message == nullptr) fail(Code::kData, "there is no message of type ", frame.header.type);
    ask(peer_, *message, std::move(frame), responder);
  }

  void on_closed(const Error&) override {
    peer_->closed = true;
    if (peer_->member) peer_->host.leave(*peer_->member);
    if (peer_->reads) peer_->host.readers().leave();
  }

 private:
  const std::shared_ptr<ShardPeer> peer_;  // deferred requests share it
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_SESSION_H_
