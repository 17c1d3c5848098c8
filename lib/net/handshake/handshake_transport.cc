#include "net/handshake/handshake_transport.h"

#include <array>
#include <map>
#include <optional>
#include <utility>

namespace ps {

namespace {

// A connection whose handshake is under way.  It calls `on_done` or `on_failed` once, last of all: it may be
// destroyed in it.
class RunningHandshake final : private Stream::Events {
 public:
  using OnDone = std::function<void(std::unique_ptr<Stream>)>;
  using OnFailed = std::function<void(const Error&)>;

  RunningHandshake(std::unique_ptr<Stream> stream, std::unique_ptr<Handshake> handshake, OnDone on_done,
                   OnFailed on_failed)
      : stream_(std::move(stream)),
        handshake_(std::move(handshake)),
        on_done_(std::move(on_done)),
        on_failed_(std::move(on_failed)) {
    stream_->set_events(this);
  }

  const Handshake& handshake() const { return *handshake_; }

  // The connection, of which nothing is read any more.
  std::unique_ptr<Stream> release() {
    stream_->set_events(nullptr);
    return std::move(stream_);
  }

  // The side that connected speaks first; the other waits for it.
  void begin() { go_on(); }
  void await() { stream_->wait_readable(); }

 private:
  void on_readable() override { go_on(); }
  void on_writable() override { go_on(); }

  void go_on() {
    Handshake::Step step;
    try {
      step = handshake_->go_on(*stream_);
    } catch (const Error& error) {
      // The callback may destroy this object, with the function and the error in it, so both are copied.
      const Error reason = error;
      const OnFailed on_failed = on_failed_;  // outlives this
      return on_failed(reason);
    }
    if (step == Handshake::Step::kWaitReadable) return stream_->wait_readable();
    if (step == Handshake::Step::kWaitWritable) return stream_->wait_writable();
    stream_->set_events(nullptr);
    const OnDone on_done = on_done_;  // outlives this
    on_done(handshake_->finish(std::move(stream_)));
  }

  std::unique_ptr<Stream> stream_;
  const std::unique_ptr<Handshake> handshake_;
  const OnDone on_done_;
  const OnFailed on_failed_;
};

// A peer that was refused: after a delay it is told so, and then it may end the connection itself, since closing
// at once could take the words back.
class RefusedPeer final : private Stream::Events {
 public:
  RefusedPeer(Loop& loop, Duration delay, std::unique_ptr<Stream> stream, std::string last_words,
              std::function<void()> on_end)
      : stream_(std::move(stream)),
        last_words_(std::move(last_words)),
        on_end_(std::move(on_end)),
        timer_(loop, [this] { has_spoken_ ? end() : tell(); }) {
    stream_->set_events(this);
    timer_.start_after(delay);
  }

 private:
  static constexpr Duration kLinger = std::chrono::seconds(1);
  static constexpr size_t kMaxDiscardedBytes = 64 << 10;

  void tell() {
    has_spoken_ = true;
    const ConstBytes words(last_words_);
    if (!words.empty()) stream_->write({&words, 1});
    stream_->shutdown_write();
    timer_.start_after(kLinger);
    stream_->wait_readable();
  }

  // Until the peer has been told, its bytes wait in the stream.  Afterwards they are dropped until it ends
  // the connection, but no more than kMaxDiscardedBytes of them.
  void on_readable() override {
    if (!has_spoken_) return;
    std::array<char, 4096> nothing;
    const MutableBytes into(nothing);
    const IoResult result = stream_->read({&into, 1});
    discarded_ += result.bytes;
    const bool goes_on = result.blocked() || result.bytes != 0;
    if (!goes_on || discarded_ > kMaxDiscardedBytes) return end();
    stream_->wait_readable();
  }
  void on_writable() override {}

  void end() {
    const std::function<void()> on_end = on_end_;  // outlives this
    on_end();
  }

  const std::unique_ptr<Stream> stream_;
  const std::string last_words_;
  const std::function<void()> on_end_;
  Timer timer_;
  bool has_spoken_ = false;
  size_t discarded_ = 0;
};

}  // namespace

// Strangers by the order of their arrival, until they are accepted or gone.
class HandshakeListener final : public Listener {
 public:
  HandshakeListener(HandshakeTransport& transport, const Address& address, Transport::OnAccept on_accept)
      : transport_(transport), on_accept_(std::move(on_accept)) {
    behind_ = transport.behind_.listen(address,
                                       [this](std::unique_ptr<Stream> stream) { begin(std::move(stream)); });
  }

  const Address& address() const override { return behind_->address(); }

 private:
  struct Stranger {
    Stranger(Loop& loop, std::function<void()> on_late) : limit(loop, std::move(on_late)) {}

    Timer limit;
    std::unique_ptr<RunningHandshake> running;
    std::unique_ptr<RefusedPeer> refused;  // in its place
  };

  HandshakeCounters& counters() { return transport_.counters_; }

  // Without a handshake on this side the connection is handed on at once.  When there are too many
  // strangers, the oldest one goes: a handshake takes milliseconds, so that it is the least likely to be
  // honest.
  void begin(std::unique_ptr<Stream> stream) {
    std::unique_ptr<Handshake> handshake = transport_.accepting();
    if (!handshake) return on_accept_(std::move(stream));
    if (strangers_.size() >= transport_.options_.max_strangers) {
      ++counters().evicted;
      strangers_.erase(strangers_.begin());
    }
    const uint64_t number = ++num_accepted_;
    auto stranger = std::make_unique<Stranger>(transport_.loop(), [this, number] {
      ++counters().timed_out;
      strangers_.erase(number);
    });
    stranger->limit.start_after(transport_.options_.timeout);
    stranger->running = std::make_unique<RunningHandshake>(
        std::move(stream), std::move(handshake),
        [this, number](std::unique_ptr<Stream> done) { accept(number, std::move(done)); },
        [this, number](const Error& error) { refuse(number, error); });
    RunningHandshake& running = *stranger->running;
    strangers_.emplace(number, std::move(stranger));
    running.await();
  }

  void accept(uint64_t number, std::unique_ptr<Stream> stream) {
    ++counters().accepted;
    strangers_.erase(number);
    on_accept_(std::move(stream));
  }

  // Only a peer that failed to prove who it is hears the reason, after the delay that slows down guessing;
  // a connection that was lost is just forgotten.
  void refuse(uint64_t number, const Error& reason) {
    Stranger& stranger = *strangers_.at(number);
    if (reason.code() != Code::kAuthentication) {
      ++counters().lost;
      strangers_.erase(number);
      return;
    }
    ++counters().refused;
    stranger.limit.stop();
    std::unique_ptr<RunningHandshake> running = std::move(stranger.running);
    std::unique_ptr<Stream> stream = running->release();
    const std::string peer = stream->peer();
    stranger.refused = std::make_unique<RefusedPeer>(transport_.loop(), transport_.options_.refusal_delay,
                                                     std::move(stream), running->handshake().last_words(),
                                                     [this, number] { strangers_.erase(number); });
    transport_.options_.on_refused(peer, reason);
  }

  HandshakeTransport& transport_;
  const Transport::OnAccept on_accept_;
  uint64_t num_accepted_ = 0;
  std::map<uint64_t, std::unique_ptr<Stranger>> strangers_;
  std::unique_ptr<Listener> behind_;
};

// First the connection, then the handshake on it; both within the time-out.
class HandshakeAttempt final : public ConnectAttempt {
 public:
  HandshakeAttempt(HandshakeTransport& transport, const Address& address, Duration timeout,
                   Transport::OnConnect on_connect)
      : transport_(transport),
        address_(address),
        on_connect_(std::move(on_connect)),
        limit_(transport.loop(),
               [this] { finish(nullptr, Error(Code::kUnavailable, "no answer to the handshake in time")); }) {
    limit_.start_after(timeout);
    connecting_ = transport.behind_.connect(
        address, timeout, [this](std::unique_ptr<Stream> stream, std::optional<Error> error) {
          error ? finish(nullptr, std::move(error)) : begin(std::move(stream));
        });
  }

 private:
  // An address for which no handshake can be made, such as one that can be in no certificate, is an error
  // of the attempt.
  void begin(std::unique_ptr<Stream> stream) {
    std::unique_ptr<Handshake> handshake;
    try {
      handshake = transport_.connecting(address_);
    } catch (const Error& error) {
      return finish(nullptr, error);
    }
    if (!handshake) return finish(std::move(stream), std::nullopt);
    running_ = std::make_unique<RunningHandshake>(
        std::move(stream), std::move(handshake),
        [this](std::unique_ptr<Stream> done) { finish(std::move(done), std::nullopt); },
        [this](const Error& error) { finish(nullptr, error); });
    running_->begin();
  }

  // This may be destroyed in it.
  void finish(std::unique_ptr<Stream> stream, std::optional<Error> error) {
    limit_.stop();
    const std::unique_ptr<RunningHandshake> ending = std::move(running_);
    if (Transport::OnConnect callback = std::exchange(on_connect_, nullptr)) {
      callback(std::move(stream), std::move(error));
    }
  }

  HandshakeTransport& transport_;
  const Address address_;
  Transport::OnConnect on_connect_;
  Timer limit_;
  std::unique_ptr<ConnectAttempt> connecting_;
  std::unique_ptr<RunningHandshake> running_;
};

std::unique_ptr<Listener> HandshakeTransport::listen(const Address& address, OnAccept on_accept) {
  return std::make_unique<HandshakeListener>(*this, address, std::move(on_accept));
}

std::unique_ptr<ConnectAttempt> HandshakeTransport::connect(const Address& address, Duration timeout,
                                                            OnConnect on_connect) {
  return std::make_unique<HandshakeAttempt>(*this, address, timeout, std::move(on_connect));
}

}  // namespace ps
