#include "net/http/http_server.h"

#include <array>
#include <map>

#include "net/http/http_message.h"

namespace ps {

class HttpPeer;

struct HttpServer::State : std::enable_shared_from_this<State> {
  State(Loop& loop_in, const HttpOptions& options_in, Handler handler_in)
      : loop(loop_in), options(options_in), handler(std::move(handler_in)) {}

  void accept(std::unique_ptr<Stream> stream);
  void make_room();
  void bury(uint64_t number);
  HttpResponse answer(const HttpRequest& request) const;

  Loop& loop;
  const HttpOptions options;
  const Handler handler;
  HttpCounters counters;
  uint64_t num_accepted = 0;
  std::map<uint64_t, std::unique_ptr<HttpPeer>> peers;  // by the order of their arrival
  std::unique_ptr<Listener> listener;
};

// One connection.  It reads a request, answers it, and so on; then it ends its side, and waits a little for
// the other to end, since closing at once could take the answer back.
class HttpPeer final : private Stream::Events {
 public:
  HttpPeer(HttpServer::State& server, uint64_t number, std::unique_ptr<Stream> stream)
      : server_(server),
        number_(number),
        stream_(std::move(stream)),
        parser_(server.options.max_header_bytes),
        timer_(server.loop, [this] { time_out(); }),
        delay_(server.loop, [this] { go_on(); }) {
    stream_->set_events(this);
    wait(server_.options.timeout);
    stream_->wait_readable();
  }

  bool open() const { return stream_ != nullptr; }
  Time waiting_since() const { return waiting_since_; }

  // Destroys this later: it may be inside one of its own functions.
  void end() {
    stream_.reset();
    timer_.stop();
    delay_.stop();
    server_.bury(number_);
  }

 private:
  static constexpr Duration kLinger = std::chrono::seconds(1);

  // For the peer, to send a whole request or to take a whole answer.
  void wait(Duration timeout) {
    waiting_since_ = server_.loop.now();
    timer_.start_after(timeout);
  }

  void time_out() {
    if (!ending_) ++server_.counters.peers_timed_out;
    end();
  }

  void on_readable() override {
    std::array<char, 4096> bytes;
    const MutableBytes into(bytes);
    IoResult result = stream_->read({&into, 1});
    if (result.blocked()) return stream_->wait_readable();
    if (result.error != 0 || result.ended()) return end();
    if (ending_) return stream_->wait_readable();
    in_.append(bytes.data(), result.bytes);
    go_on();
  }

  void on_writable() override { go_on(); }

  // Until it has to wait: writes the answer, then takes the next request, which may have been sent ahead.
  void go_on() {
    while (write_answer()) {
      if (!parser_.keep_alive()) return end_writing();
      if (!read_request()) return stream_->wait_readable();
    }
  }

  // False when the rest has to wait, or there is nobody to take it.
  bool write_answer() {
    if (out_.empty()) return true;
    if (delay_.started()) return false;
    while (sent_ < out_.size()) {
      const ConstBytes rest = ConstBytes(out_).subspan(sent_);
      IoResult result = stream_->write({&rest, 1});
      if (result.blocked()) return stream_->wait_writable(), false;
      if (result.error != 0) return end(), false;
      sent_ += result.bytes;
    }
    sent_ = 0;
    // The memory of a large answer is freed, and not kept for the life of the connection.
    std::string().swap(out_);
    wait(server_.options.timeout);
    return true;
  }

  // out_ <- the answer; false when the request has not come whole.
  bool read_request() {
    if (in_.empty()) return false;
    const HttpRequestParser::State state = parser_.parse(in_);
    if (state == HttpRequestParser::State::kMore) return false;
    const bool good = state == HttpRequestParser::State::kRequest;
    ++server_.counters.requests;
    if (!good) ++server_.counters.requests_bad;
    const HttpResponse response = good ? answer() : parser_.refusal();
    out_ = http_response_text(response, parser_.head_only(), parser_.keep_alive());
    wait(server_.options.timeout + response.delay);
    if (response.delay > Duration(0)) delay_.start_after(response.delay);
    return true;
  }

  HttpResponse answer() const {
    HttpRequest request = parser_.request();
    request.peer = stream_->peer();
    return server_.answer(request);
  }

  void end_writing() {
    ending_ = true;
    in_.clear();
    stream_->shutdown_write();
    wait(kLinger);
    stream_->wait_readable();
  }

  HttpServer::State& server_;
  const uint64_t number_;
  std::unique_ptr<Stream> stream_;  // null once ended
  HttpRequestParser parser_;
  Timer timer_;
  Timer delay_;  // of the answer
  Time waiting_since_{};
  std::string in_;       // received and not parsed: less than the limit of a header and one read
  std::string out_;      // the answer
  size_t sent_ = 0;      // of it
  bool ending_ = false;  // what comes is thrown away
};

void HttpServer::State::accept(std::unique_ptr<Stream> stream) {
  if (peers.size() >= options.max_connections) make_room();
  const uint64_t number = ++num_accepted;
  peers.emplace(number, std::make_unique<HttpPeer>(*this, number, std::move(stream)));
}

// Ends the peer that has been waited for the longest, be it for a request or for taking an answer.
void HttpServer::State::make_room() {
  HttpPeer* longest = nullptr;
  for (auto& [number, peer] : peers) {
    if (peer->open() && (longest == nullptr || peer->waiting_since() < longest->waiting_since())) {
      longest = peer.get();
    }
  }
  if (longest == nullptr) return;  // all are ended, and go in this turn of the loop
  ++counters.peers_evicted;
  longest->end();
}

// The peer is destroyed by a task of the loop, which may run after the server has gone.
void HttpServer::State::bury(uint64_t number) {
  loop.post([weak = weak_from_this(), number] {
    if (std::shared_ptr<State> state = weak.lock()) state->peers.erase(number);
  });
}

HttpResponse HttpServer::State::answer(const HttpRequest& request) const {
  try {
    return handler(request);
  } catch (const std::exception& error) {
    return {.status = 500, .body = cat(error.what(), "\n")};
  }
}

HttpServer::HttpServer(Transport& transport, const Address& address, const HttpOptions& options,
                       Handler handler)
    : state_(std::make_shared<State>(transport.loop(), options, std::move(handler))) {
  State& state = *state_;
  state.listener = transport.listen(
      address, [&state](std::unique_ptr<Stream> stream) { state.accept(std::move(stream)); });
}

HttpServer::~HttpServer() = default;

const Address& HttpServer::address() const {
  return state_->listener->address();
}

size_t HttpServer::num_connections() const {
  return state_->peers.size();
}

const HttpCounters& HttpServer::counters() const {
  return state_->counters;
}

}  // namespace ps
