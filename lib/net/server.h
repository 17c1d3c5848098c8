// Server: accepts connections, gives their requests to sessions, and sends the answers.  Used by shards.
//
// Everything happens on the loop's thread, except that buffers may be released on any.
#ifndef PS_NET_SERVER_H_
#define PS_NET_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/buffer_pool.h"
#include "net/connection.h"
#include "net/counters.h"
#include "net/frame.h"
#include "net/transport.h"

namespace ps {

class ServerPeer;

struct ServerOptions {
  // Beyond this many connections the oldest of those whose session is not established makes room; without one
  // the new one is refused.
  size_t max_connections = 1024;
  // Bodies of requests, those being received included, have so many bytes until their buffers are released;
  // reading pauses when they are used up.  A body of more than this is refused.  One peer has a
  // quarter for those that are being received, or a single body (net/peer_accounts.h).
  uint64_t max_memory_bytes = uint64_t{1} << 30;
  // While so many requests of a connection are not answered, it is not read.
  size_t max_unanswered = 1024;
  // Until its session is established, a connection has this long, and bodies of at most this.
  Duration handshake_timeout = std::chrono::seconds(10);
  uint64_t max_handshake_bytes = 16 << 10;
  ConnectionOptions connection{.stall_timeout = std::chrono::seconds(60)};
};

// The right and the duty to answer one request: once, now or later, in any order.  If it is destroyed without an
// answer, it answers that the request was dropped.  When the connection has gone, answers are dropped.
class Responder {
 public:
  Responder() = default;
  Responder(std::weak_ptr<ServerPeer> peer, const FrameHeader& request)
      : peer_(std::move(peer)), request_(request) {}
  Responder(Responder&&) = default;
  Responder& operator=(Responder&& other);
  ~Responder();

  void answer(Payload payload);
  void answer(std::shared_ptr<const Payload> payload);        // shares one payload among many answers
  void answer_piece(std::shared_ptr<const Payload> payload);  // of which the payload of `answer` is the end
  void fail(const Error& error);

  // Returns true while the peer waits for the answer: until its session is told that the connection has gone.
  bool wanted() const;

 private:
  void send(uint32_t flags, std::shared_ptr<const Payload> payload);
  void drop();

  std::weak_ptr<ServerPeer> peer_;  // empty: the request is answered
  FrameHeader request_;
};

// A session's handle of its connection.  It may outlive the connection, and then does nothing.
class SessionLink {
 public:
  explicit SessionLink(std::weak_ptr<ServerPeer> peer) : peer_(std::move(peer)) {}

  // Returns the peer's address for messages; it is empty when the connection has gone.
  std::string peer() const;

  // Returns the rights of the peer; the least when the connection has gone.
  Access access() const;

  // Ends the handshake: the limits for strangers no longer hold.  `name` is the peer's, of which there may be several
  // connections; empty: it is known by its address alone.
  void establish(const std::string& name = "");

  // Closes the connection after all answers, with a notice to the peer if there is a reason.
  void close(std::optional<Error> reason = std::nullopt);

 private:
  std::weak_ptr<ServerPeer> peer_;
};

// The owner of a connection's requests, which knows their meaning.  Destroyed when the connection has gone.
class Session {
 public:
  virtual ~Session() = default;

  // Returns the longest allowed body of a request of this type, or nothing if the type is not known.
  virtual std::optional<uint64_t> max_body_bytes(uint16_t type) = 0;

  // If it throws and has not moved `responder`, the exception is the answer.  A request with id 0 needs no
  // answer.  The body counts against the server's memory until it is released: do not keep it for longer than
  // it is used, and never while waiting for another request.
  virtual void on_request(Frame frame, Responder& responder) = 0;

  virtual void on_closed(const Error& reason) { (void)reason; }
};

class Server {
 public:
  using SessionFactory = std::function<std::unique_ptr<Session>(SessionLink link)>;

  // Listens from now on; throws as Transport::listen does.  Must not be destroyed by one of its sessions.
  Server(Transport& transport, const Address& address, const ServerOptions& options,
         SessionFactory make_session);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns the address with the port that was chosen.
  const Address& address() const { return address_; }

  // Accepts no more connections, and closes each connection as soon as its requests are answered, until
  // num_connections() is 0.
  void drain();

  size_t num_connections() const;
  const NetCounters& counters() const;

  // Returns the pool of the bodies of requests.  Answers may use it too.
  BufferPool& pool();

 private:
  friend class ServerPeer;
  struct State;
  std::shared_ptr<State> state_;
  Address address_;
};

}  // namespace ps

#endif  // PS_NET_SERVER_H_
