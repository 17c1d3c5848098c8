// The messages that a shard answers.  The table has for each the longest body, the peers that may ask, the
// decoder and the handler.  Used by ShardSession, and by tests that walk the table.
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

// Every peer may connect, and is then a stranger.  A hello makes it a reader, which changes nothing, or a
// trainer, which has a rank in the run.
enum class Role { kStranger, kReader, kTrainer };

// The peer of one connection, and the objects that serve it.  Owned by the loop's thread.
struct ShardPeer {
  ShardHost& host;
  const std::string& description;  // the answer to describe
  RequestTimes& times;
  SessionLink link;
  Access access = Access::kAdmin;  // the access that its connection has proven
  bool greeted = false;
  bool reads = false;        // it has one of the readers' connections
  bool hello_waits = false;  // its hello is deferred
  bool closed = false;
  std::optional<Member> member = {};  // of a trainer; nothing: the peer is none

  // Returns the role of the peer.  A trainer may do all that a reader may, and a reader all that a stranger
  // may.
  Role role() const { return member ? Role::kTrainer : greeted ? Role::kReader : Role::kStranger; }
};

struct ShardMessage {
  Message type;
  uint64_t max_body_bytes;
  Role may_ask;  // the least role that may ask

  // Decodes the body, and answers at once or later.  An error that it throws is the answer, if `responder`
  // was not taken.
  void (*handle)(ShardPeer& peer, Frame frame, Responder& responder);

  // Returns true if the request has to wait while the shard is busy with a step, since it does more than read
  // what may be read then.
  bool (*waits)(const ShardPeer& peer, const Frame& frame);
};

std::span<const ShardMessage> shard_messages();

// Checks that the peer may ask, and handles the request; throws as ShardMessage::handle does.  If the shard
// is busy, and the request has to wait for that, it is deferred.
void ask(const std::shared_ptr<ShardPeer>& peer, const ShardMessage& message, Frame frame,
         Responder& responder);

// Returns null if the type is not known.
const ShardMessage* find_shard_message(uint16_t type);

// Throws unless the peer may send this message now: kAuthentication if it does not have the role, or its
// token does not grant it, kStateLost if the shard or the trainer's run is gone, kFenced if another server
// has taken this server's place.
void check_may_ask(const ShardPeer& peer, const ShardMessage& message);

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_MESSAGES_H_
