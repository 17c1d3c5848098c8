#include "net/http/http_client.h"

#include <array>
#include <memory>
#include <optional>

#include "net/http/http_message.h"

namespace ps {

namespace {

// One request and its answer.
class HttpExchange final : private Stream::Events {
 public:
  HttpExchange(Transport& transport, const Address& address, const HttpPost& post, const HttpLimits& limits)
      : out_(http_post_text(to_text(address), post)),
        parser_(limits.max_header_bytes, limits.max_body_bytes) {
    attempt_ = transport.connect(address, limits.timeout,
                                 [this](std::unique_ptr<Stream> stream, const std::optional<Error>& error) {
                                   error ? void(error_ = error) : begin(std::move(stream));
                                 });
  }

  bool done() const { return error_ || parser_.done(); }

  HttpAnswer take() {
    if (error_) throw *error_;
    return parser_.take();
  }

 private:
  void begin(std::unique_ptr<Stream> stream) {
    stream_ = std::move(stream);
    stream_->set_events(this);
    stream_->wait_readable();
    on_writable();
  }

  // When it cannot be written, an answer may have come before: reading tells.
  void on_writable() override {
    while (sent_ < out_.size()) {
      const ConstBytes rest = ConstBytes(out_).subspan(sent_);
      const IoResult result = stream_->write({&rest, 1});
      if (result.blocked()) return stream_->wait_writable();
      if (result.error != 0) return;
      sent_ += result.bytes;
    }
  }

  void on_readable() override {
    std::array<char, 16384> bytes;
    const MutableBytes into(bytes);
    const IoResult result = stream_->read({&into, 1});
    if (result.blocked()) return stream_->wait_readable();
    try {
      if (result.error != 0) throw io_error(result.error);
      result.ended() ? parser_.end() : parser_.parse({bytes.data(), result.bytes});
    } catch (const Error& error) {
      error_ = error;
    }
    if (!done()) stream_->wait_readable();
  }

  const std::string out_;
  size_t sent_ = 0;
  HttpAnswerParser parser_;
  std::optional<Error> error_;
  std::unique_ptr<ConnectAttempt> attempt_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace

// The time limit holds for the connection, the request and the answer together.  All errors name the
// server.
HttpAnswer http_post(Transport& transport, const Address& address, const HttpPost& post,
                     const HttpLimits& limits) {
  Loop& loop = transport.loop();
  const Time deadline = add_time(loop.now(), limits.timeout);
  HttpExchange exchange(transport, address, post, limits);
  try {
    if (loop.run_until([&] { return exchange.done(); }, deadline)) return exchange.take();
    fail(Code::kUnavailable, "no answer within ", significant(to_seconds(limits.timeout), 3), " s");
  } catch (const Error& error) {
    throw error.within(cat("server ", quote(to_text(address))));
  }
}

}  // namespace ps
