// The messages that a shard answers: for each, how long its body may be, who may ask, how it is decoded, and
// how it is handled.  Used by ShardSession, and by tests that walk the table.
#ifndef PS_PS_SERVER_SHARD_MESSAGES_H_
#define PS_PS_SERVER_SHARD_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "net/server.h"
#include "ps/server/shard_host.h"
#include "ps/server/status_publisher.h"
#include "ps/wire/protocol.h"

namespace ps {

inline constexpr uint64_t kMaxHelloBytes = 4 << 20;  // a job file with a large network

// Everybody may connect, and then is a stranger.  A hello makes it a reader, who changes nothing, or a
// trainer, who has a rank in the run.
enum class Role { kStranger, kReader, kTrainer };

// The peer of one connection, and what serves it.
struct ShardPeer {
  ShardHost& host;
  const std::string& description;  // the answer to describe
  RequestTimes& times;
  SessionLink link;
  Access access = Access::kAdmin;  // what its connection has proven that it may do
  bool greeted = false;
  bool reads = false;        // has one of the readers' connections
  bool hello_waits = false;  // it is deferred
  bool closed = false;
  std::optional<Member> member = {};  // of a trainer

  // A trainer is a reader too, and a reader a stranger.
  Role role() const { return member ? Role::kTrainer : greeted ? Role::kReader : Role::kStranger; }
};

struct ShardMessage {
  Message type;
  uint64_t max_body_bytes;
  Role may_ask;  // the least that a peer has to be

  // Decodes the body, and answers now or later.  A failure that it throws is the answer, while `responder` is
  // in place.
  void (*handle)(ShardPeer& peer, Frame frame, Responder& responder);

  // True when the request has to wait while the shard is busy with a step: it does more than to read what may be read then.
  bool (*waits)(const ShardPeer& peer, const Frame& frame);
};

std::span<const ShardMessage> shard_messages();

// Checks that the peer may ask, and handles the request; throws as ShardMessage::handle.  Where the shard is busy, and the
// request has to wait for that, it is deferred.
void ask(const std::shared_ptr<ShardPeer>& peer, const ShardMessage& message, Frame frame,
         Responder& responder);

// Null when the type is not known.
const ShardMessage* find_shard_message(uint16_t type);

// Throws unless the peer may send this message now: kAuthentication when it is not what it has to be, or its token
// does not grant it,
// kStateLost when the shard or the trainer's run is gone, kFenced when another has the server's place.
void check_may_ask(const ShardPeer& peer, const ShardMessage& message);

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_MESSAGES_H_
