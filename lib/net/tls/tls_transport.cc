#include "net/tls/tls_transport.h"

#include <utility>

#include "net/tls/tls_session.h"

namespace ps {

namespace {

// An encrypted stream in front of another one.  One owner thread, that of the loop.
class TlsStream final : public Stream, private Stream::Events {
 public:
  TlsStream(Loop& loop, std::unique_ptr<Stream> behind, std::unique_ptr<TlsSession> session)
      : behind_(std::move(behind)),
        session_(std::move(session)),
        readable_timer_(loop, [this] { on_readable(); }),
        writable_timer_(loop, [this] { tell_writable(); }),
        loop_(loop) {
    behind_->set_events(this);
  }

  // Tells the peer about the end, if the stream has room.  So the peer can distinguish it from an end that an
  // attacker causes.
  ~TlsStream() override {
    if (!ending_) session_->end_writing();
    session_->flush(*behind_);
  }

  // Reading may write too, as an alert or new keys, which has to go out even if the owner writes nothing.
  IoResult read(std::span<const MutableBytes> into) override {
    const IoResult result = session_->read(*behind_, into);
    await_flush();
    return result;
  }

  IoResult write(std::span<const ConstBytes> from) override {
    const IoResult result = session_->write(*behind_, from);
    await_flush();
    return result;
  }

  void wait_readable() override {
    waits_readable_ = true;
    // Decrypted bytes may be left in the session when the stream behind it has no more: then no event of
    // that stream would come, and the timer calls on_readable from the loop.
    session_->has_more() ? readable_timer_.start_at(loop_.now()) : behind_->wait_readable();
  }

  void wait_writable() override {
    waits_writable_ = true;
    if (session_->has_room()) writable_timer_.start_at(loop_.now());
  }

  uint64_t held_bytes() const override { return session_->held_bytes() + behind_->held_bytes(); }
  uint64_t undelivered_bytes() const override {
    return session_->held_bytes() + behind_->undelivered_bytes();
  }

  void shutdown_write() override {
    if (std::exchange(ending_, true)) return;
    session_->end_writing();
    on_writable();
  }

  void set_events(Stream::Events* events) override { events_ = events; }
  const std::string& peer() const override { return behind_->peer(); }
  Access access() const override { return behind_->access(); }

 private:
  void await_flush() {
    if (!session_->flushed()) behind_->wait_writable();
  }

  void on_readable() override {
    if (std::exchange(waits_readable_, false) && events_ != nullptr) events_->on_readable();
  }

  void on_writable() override {
    // The stream behind ends only after the close alert has gone out.
    session_->flush(*behind_);
    await_flush();
    if (ending_ && session_->flushed()) behind_->shutdown_write();
    tell_writable();
  }

  void tell_writable() {
    if (session_->has_room() && std::exchange(waits_writable_, false) && events_ != nullptr) {
      events_->on_writable();
    }
  }

  const std::unique_ptr<Stream> behind_;
  const std::unique_ptr<TlsSession> session_;
  Stream::Events* events_ = nullptr;
  bool waits_readable_ = false, waits_writable_ = false, ending_ = false;
  Timer readable_timer_, writable_timer_;
  Loop& loop_;
};

// The handshake of one connection, which becomes a TlsStream.  One owner thread, that of the loop.
class TlsHandshake final : public Handshake {
 public:
  TlsHandshake(Loop& loop, std::shared_ptr<const TlsContext> context, const std::string& host)
      : loop_(loop), session_(std::make_unique<TlsSession>(std::move(context), host)) {}

  Step go_on(Stream& stream) override { return session_->handshake(stream); }
  std::unique_ptr<Stream> finish(std::unique_ptr<Stream> stream) override {
    return std::make_unique<TlsStream>(loop_, std::move(stream), std::move(session_));
  }
  std::string last_words() const override { return session_->last_words(); }

 private:
  Loop& loop_;
  std::unique_ptr<TlsSession> session_;
};

}  // namespace

TlsTransport::TlsTransport(Transport& behind, TlsContexts contexts, HandshakeOptions options)
    : HandshakeTransport(behind, std::move(options)), contexts_(std::move(contexts)) {}

std::unique_ptr<Handshake> TlsTransport::accepting() {
  if (!contexts_.server) return nullptr;
  return std::make_unique<TlsHandshake>(loop(), contexts_.server, "");
}

std::unique_ptr<Handshake> TlsTransport::connecting(const Address& address) {
  if (!contexts_.client) return nullptr;
  return std::make_unique<TlsHandshake>(loop(), contexts_.client, address.host);
}

}  // namespace ps
