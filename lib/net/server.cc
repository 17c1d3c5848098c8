#include "net/server.h"

#include <algorithm>
#include <map>

#include "base/current_error.h"
#include "net/peer_accounts.h"

namespace ps {

namespace {

std::shared_ptr<const Payload> error_payload(const Error& error) {
  return std::make_shared<Payload>(encode_error(error));
}

}  // namespace

struct Server::State {
  State(Loop& loop_in, const ServerOptions& options_in, SessionFactory factory, std::function<void()> on_room)
      : loop(loop_in),
        options(options_in),
        make_session(std::move(factory)),
        pool(options.max_memory_bytes, std::move(on_room)) {}

  void accept(std::unique_ptr<Stream> stream);
  bool evict_stranger();
  Error too_many() const;
  void refuse(Stream& stream);
  void retry_starved();

  Loop& loop;
  const ServerOptions options;
  const SessionFactory make_session;
  BufferPool pool;
  PeerAccounts accounts;
  NetCounters counters;
  bool draining = false;
  uint64_t num_accepted = 0, last_retried = 0;
  std::map<uint64_t, std::shared_ptr<ServerPeer>> peers;  // by the order of their arrival
  std::unique_ptr<Listener> listener;
};

// One connection and its session.
class ServerPeer final : public Connection::Handler {
 public:
  ServerPeer(Server::State& server, uint64_t number, std::unique_ptr<Stream> stream)
      : server_(server),
        number_(number),
        connection_(server.loop, std::move(stream), server.pool, server.options.connection, server.counters,
                    *this),
        handshake_timer_(server.loop, [this] {
          ++server_.counters.peers_timed_out;
          connection_.fail(Error(Code::kUnavailable, "no handshake in time"));
        }) {
    handshake_timer_.start_after(server.options.handshake_timeout);
    connection_.count_on(server.accounts.of(peer_of_address(connection_.peer())));
  }

  // Sessions and responders hold the peer weakly, so that they may outlive the connection.  A session that
  // cannot be made closes the connection with the reason.
  void begin(const std::shared_ptr<ServerPeer>& self) {
    self_ = self;
    try {
      session_ = server_.make_session(SessionLink(self_));
    } catch (...) {
      close(current_error());
    }
  }

  Connection& connection() { return connection_; }
  void establish(const std::string& name) {
    handshake_timer_.stop();
    if (!name.empty()) connection_.count_on(server_.accounts.of(name));
  }
  bool is_stranger() const { return handshake_timer_.started() && connection_.open(); }

  void evict(const Error& reason) {
    connection_.send_notice(reason);
    connection_.fail(reason);
  }

  // A request without an id wants no answer.  Only the last piece of an answer ends its request, so that
  // the limit of unanswered requests holds until the whole answer is queued.
  void send_answer(const FrameHeader& request, uint32_t flags, std::shared_ptr<const Payload> payload) {
    if (request.request_id == 0) return;
    if ((flags & kFlagPiece) == 0) --num_unanswered_;
    bool room = connection_.send(
        {.type = request.type, .flags = flags | kFlagAnswer, .request_id = request.request_id},
        std::move(payload));
    if (!room) write_blocked_ = true;
    steer();
  }

  void close(const std::optional<Error>& reason) {
    if (reason) connection_.send_notice(*reason);
    connection_.close();
  }

  void drain() { steer(); }
  bool closed() const { return closed_; }

 private:
  std::optional<uint64_t> max_body_bytes(const FrameHeader& header) override {
    if (header.flags != 0) return std::nullopt;
    std::optional<uint64_t> limit = session_->max_body_bytes(header.type);
    if (limit && handshake_timer_.started()) return std::min(*limit, server_.options.max_handshake_bytes);
    return limit;
  }

  void on_frame(Frame frame) override {
    Responder responder;
    if (frame.header.request_id != 0) {
      // The request is counted before the session sees it, since the session may answer it within
      // on_request.
      ++num_unanswered_;
      steer();
      responder = Responder(self_, frame.header);
    }
    try {
      session_->on_request(std::move(frame), responder);
    } catch (...) {
      responder.fail(current_error());
    }
  }

  void on_refused(const FrameHeader& header, const Error& problem) override {
    if (header.is_answer() || header.request_id == 0) return;
    ++num_unanswered_;
    send_answer(header, kFlagError, error_payload(problem));
  }

  void on_drained() override {
    write_blocked_ = false;
    steer();
  }

  void on_closed(const Error& reason) override {
    closed_ = true;
    if (session_) session_->on_closed(reason);
    server_.peers.erase(number_);
  }

  // Pauses or resumes reading: the connection reads only while the limits leave room for its answers.
  void steer() {
    // A server that drains reads no more requests, and the last answer closes the connection.
    if (server_.draining && num_unanswered_ == 0) return connection_.close();
    bool pause = server_.draining || write_blocked_ || num_unanswered_ >= server_.options.max_unanswered;
    if (pause == paused_) return;
    paused_ = pause;
    pause ? connection_.pause_reading() : connection_.resume_reading();
  }

  Server::State& server_;
  const uint64_t number_;
  std::weak_ptr<ServerPeer> self_;
  std::unique_ptr<Session> session_;
  Connection connection_;
  Timer handshake_timer_;  // runs until the session is established
  size_t num_unanswered_ = 0;
  bool write_blocked_ = false, paused_ = false;
  bool closed_ = false;  // the connection has gone: nobody waits for answers
};

void Server::State::accept(std::unique_ptr<Stream> stream) {
  if (peers.size() >= options.max_connections && !evict_stranger()) return refuse(*stream);
  auto peer = std::make_shared<ServerPeer>(*this, ++num_accepted, std::move(stream));
  peers.emplace(num_accepted, peer);
  peer->begin(peer);
}

Error Server::State::too_many() const {
  return Error(Code::kUnavailable, cat("too many connections, at most ", options.max_connections));
}

// Closes the oldest connection without a handshake.  A handshake takes milliseconds, so that the oldest one is
// the least likely to be honest.
bool Server::State::evict_stranger() {
  const auto oldest =
      std::ranges::find_if(peers, [](const auto& peer) { return peer.second->is_stranger(); });
  if (oldest == peers.end()) return false;
  ++counters.connections_refused;
  oldest->second->evict(too_many());
  return true;
}

// Sends the refusal only as far as this needs no waiting, so that a flood of connections costs no memory.
void Server::State::refuse(Stream& stream) {
  ++counters.connections_refused;
  FrameWriter writer;
  writer.add({.type = kFrameNotice, .flags = kFlagError}, error_payload(too_many()));
  writer.flush(stream);
  stream.shutdown_write();
}

// Begins after the peer that was first the last time, so that every peer gets its turn.
void Server::State::retry_starved() {
  auto first = peers.upper_bound(last_retried);
  if (first != peers.end()) last_retried = first->first;
  for (auto peer = first; peer != peers.end(); ++peer) peer->second->connection().retry_starved();
  for (auto peer = peers.begin(); peer != first; ++peer) peer->second->connection().retry_starved();
  if (first == peers.end()) last_retried = 0;
}

Server::Server(Transport& transport, const Address& address, const ServerOptions& options,
               SessionFactory make_session) {
  Loop& loop = transport.loop();
  // The state owns the pool, which owns this callback; therefore the callback has a weak pointer to the state,
  // which the constructor sets.
  auto weak_state = std::make_shared<std::weak_ptr<State>>();
  auto on_room = [&loop, weak_state] {
    loop.post([weak_state] {
      if (std::shared_ptr<State> state = weak_state->lock()) state->retry_starved();
    });
  };
  state_ = std::make_shared<State>(loop, options, std::move(make_session), std::move(on_room));
  *weak_state = state_;
  State& state = *state_;
  state.listener = transport.listen(
      address, [&state](std::unique_ptr<Stream> stream) { state.accept(std::move(stream)); });
  address_ = state.listener->address();
}

Server::~Server() = default;

void Server::drain() {
  state_->draining = true;
  state_->listener.reset();
  for (auto& [number, peer] : state_->peers) peer->drain();
}

size_t Server::num_connections() const {
  return state_->peers.size();
}

const NetCounters& Server::counters() const {
  return state_->counters;
}

BufferPool& Server::pool() {
  return state_->pool;
}

// The request that this one still had is answered as dropped first.
Responder& Responder::operator=(Responder&& other) {
  if (this == &other) return *this;
  drop();
  peer_ = std::move(other.peer_);
  request_ = other.request_;
  return *this;
}

Responder::~Responder() {
  drop();
}

bool Responder::wanted() const {
  const std::shared_ptr<ServerPeer> peer = peer_.lock();
  return peer && !peer->closed();
}

void Responder::drop() {
  if (wanted()) fail(Error(Code::kUnavailable, "the server has dropped the request"));
}

void Responder::answer(Payload payload) {
  answer(std::make_shared<const Payload>(std::move(payload)));
}

void Responder::answer(std::shared_ptr<const Payload> payload) {
  send(0, std::move(payload));
}

void Responder::answer_piece(std::shared_ptr<const Payload> payload) {
  if (std::shared_ptr<ServerPeer> peer = peer_.lock()) {
    peer->send_answer(request_, kFlagPiece, std::move(payload));
  }
}

void Responder::fail(const Error& error) {
  if (wanted()) send(kFlagError, error_payload(error));
}

void Responder::send(uint32_t flags, std::shared_ptr<const Payload> payload) {
  // The responder is empty before the answer goes out, so that nothing that happens in between answers
  // twice.
  std::shared_ptr<ServerPeer> peer = peer_.lock();
  peer_.reset();
  if (peer) peer->send_answer(request_, flags, std::move(payload));
}

std::string SessionLink::peer() const {
  std::shared_ptr<ServerPeer> peer = peer_.lock();
  return peer ? peer->connection().peer() : "";
}

Access SessionLink::access() const {
  std::shared_ptr<ServerPeer> peer = peer_.lock();
  return peer ? peer->connection().access() : Access::kRead;
}

void SessionLink::establish(const std::string& name) {
  if (std::shared_ptr<ServerPeer> peer = peer_.lock()) peer->establish(name);
}

void SessionLink::close(std::optional<Error> reason) {
  if (std::shared_ptr<ServerPeer> peer = peer_.lock()) peer->close(reason);
}

}  // namespace ps
