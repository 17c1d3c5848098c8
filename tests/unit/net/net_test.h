// Shared by the tests of net: the hosts of a client and a server, on the simulated network and on loopback
// TCP, and a service that they use.
#ifndef PS_TESTS_UNIT_NET_NET_TEST_H_
#define PS_TESTS_UNIT_NET_NET_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/buffer_pool.h"
#include "net/channel.h"
#include "net/network.h"
#include "net/server.h"
#include "net/sim/sim_network.h"

namespace ps {

using namespace std::chrono_literals;

// Where the same test runs.
class World {
 public:
  virtual ~World() = default;
  virtual Transport& client() = 0;
  virtual Transport& server() = 0;
  virtual Address any_port() = 0;
  // Fails the test when done() does not come to be true within 30 s.
  virtual bool run_until(const std::function<bool()>& done) = 0;
};

class SimWorld final : public World {
 public:
  explicit SimWorld(uint64_t seed = 1) : network(seed) {}
  Transport& client() override { return network.host("client"); }
  Transport& server() override { return network.host("server"); }
  Address any_port() override { return {"server", 0}; }
  bool run_until(const std::function<bool()>& done) override {
    return network.run_until(done, add_time(network.now(), 30s));
  }
  SimNetwork network;
};

class TcpWorld final : public World {
 public:
  explicit TcpWorld(bool local) : network(make_network({.local = local})) {}
  Transport& client() override { return *network; }
  Transport& server() override { return *network; }
  Address any_port() override { return {"127.0.0.1", 0}; }
  bool run_until(const std::function<bool()>& done) override {
    return network->loop().run_until(done, add_time(network->loop().now(), 30s));
  }
  const std::unique_ptr<Transport> network;
};

// A stream that reads all that comes and writes all that it is given.
struct End final : Stream::Events {
  explicit End(std::unique_ptr<Stream> open_stream) : stream(std::move(open_stream)) {
    stream->set_events(this);
    stream->wait_readable();
  }

  void send(std::string bytes) {
    out += bytes;
    on_writable();
  }

  void on_readable() override {
    char bytes[1000];
    MutableBytes into(bytes);
    for (;;) {
      IoResult result = stream->read({&into, 1});
      if (result.blocked()) return reads ? stream->wait_readable() : void();
      in.append(bytes, result.bytes);
      ended = result.ended();
      error = result.error;
      if (ended || error != 0) return;
    }
  }

  void on_writable() override {
    while (sent < out.size()) {
      ConstBytes rest = ConstBytes(out).subspan(sent);
      ConstBytes from[] = {rest.first(rest.size() / 2), rest.subspan(rest.size() / 2)};
      IoResult result = stream->write(from);
      if (result.blocked()) return stream->wait_writable();
      if (result.error != 0) return void(error = result.error);
      sent += result.bytes;
    }
  }

  std::unique_ptr<Stream> stream;
  std::string in, out;
  size_t sent = 0;
  bool ended = false, reads = true;
  int error = 0;
};

// Tests for which all must do the same: simulated, over TCP, and over Unix sockets beside TCP's ports.
class EveryNetwork : public testing::TestWithParam<const char*> {
 protected:
  EveryNetwork() {
    if (std::string(GetParam()) == "simulated") {
      world_ = std::make_unique<SimWorld>();
    } else {
      world_ = std::make_unique<TcpWorld>(std::string(GetParam()) == "local");
    }
  }
  // A test's own transports, which are gone next, outlive what is on them.
  void TearDown() override {
    near_.reset();
    far_.reset();
    listener_.reset();
  }
  void run_until(const std::function<bool()>& done) {
    ASSERT_TRUE(world_->run_until(done)) << "nothing in 30 s";
  }
  void run_for(Duration duration) {
    Loop& loop = world_->client().loop();
    loop.run_until([] { return false; }, add_time(loop.now(), duration));
  }

  // far_ <- who comes to it.
  void listen(Transport& server) {
    listener_ = server.listen(world_->any_port(), [this](std::unique_ptr<Stream> stream) {
      far_ = std::make_unique<End>(std::move(stream));
    });
  }

  // near_ <- a connection to the listener through `client`.  Returns the error, if there is one.
  std::optional<Error> connect_through(Transport& client) {
    std::optional<Error> failed;
    bool done = false;
    near_.reset();
    far_.reset();
    auto attempt = client.connect(listener_->address(), 5s,
                                  [&](std::unique_ptr<Stream> stream, std::optional<Error> error) {
                                    if (stream) near_ = std::make_unique<End>(std::move(stream));
                                    failed = std::move(error);
                                    done = true;
                                  });
    run_until([&] { return done; });
    return failed;
  }

  // Every connection from near_ to far_ passes these.
  void expect_bytes_in_both_directions();
  void expect_to_end_after_its_bytes();
  void expect_to_block_until_the_peer_reads();

  std::unique_ptr<World> world_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<End> near_, far_;
};

#define PS_ON_EVERY_NETWORK(Suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(Networks, Suite, testing::Values("simulated", "tcp", "local"), \
                           [](const auto& each) { return std::string(each.param); })

// Types of requests of the test service.
inline constexpr uint16_t kEcho = 16;   // the answer is the request
inline constexpr uint16_t kLater = 17;  // is answered by TestService::answer_later, last come first
inline constexpr uint16_t kFail = 18;   // throws kFenced
// Drops the responder, as often as TestService::forgetful says; then as kEcho.
inline constexpr uint16_t kForget = 19;
inline constexpr uint16_t kBusy = 20;   // kUnavailable, as often as TestService::busy says; then as kEcho
inline constexpr uint16_t kHello = 21;  // establishes the peer of that name

// The behaviour of all sessions of a test, and a record of their requests.
struct TestService {
  struct Later {
    std::string text;
    Responder responder;
  };

  std::vector<std::string> requests;
  std::vector<Later> later;
  std::vector<Frame> kept;  // when keep
  std::vector<std::string> closed;
  int wanted_at_close = 0;  // requests that were wanted when their session was told that it has closed
  int busy = 0;
  int forgetful = 0;
  bool keep = false;
  uint64_t max_body_bytes = 64 << 20;
  uint32_t last_deadline_ms = 0;

  Server::SessionFactory factory();
  void answer_later() {
    while (!later.empty()) {
      later.back().responder.answer(Payload(later.back().text));
      later.pop_back();
    }
  }
};

inline std::string text_of(const Frame& frame) {
  return {frame.body.data(), frame.body.size()};
}

class TestSession final : public Session {
 public:
  TestSession(TestService& service, SessionLink link) : service_(service), link_(std::move(link)) {}

  std::optional<uint64_t> max_body_bytes(uint16_t type) override {
    if (type < kEcho || type > kHello) return std::nullopt;
    return service_.max_body_bytes;
  }

  void on_request(Frame frame, Responder& responder) override {
    uint16_t type = frame.header.type;
    std::string text = text_of(frame);
    service_.requests.push_back(text.substr(0, 32));
    service_.last_deadline_ms = frame.header.deadline_ms;
    if (service_.keep) service_.kept.push_back(std::move(frame));
    if (type == kHello) link_.establish(text);
    if (type == kFail) fail(Code::kFenced, "another server owns this");
    if (type == kBusy && service_.busy-- > 0) fail(Code::kUnavailable, "busy");
    if (type == kForget && service_.forgetful-- > 0) return void(Responder(std::move(responder)));
    if (type == kLater) return service_.later.push_back({std::move(text), std::move(responder)});
    responder.answer(Payload(std::move(text)));
  }

  void on_closed(const Error& reason) override {
    service_.closed.push_back(reason.message());
    for (const TestService::Later& later : service_.later)
      service_.wanted_at_close += later.responder.wanted();
  }

 private:
  TestService& service_;
  SessionLink link_;
};

inline Server::SessionFactory TestService::factory() {
  return [this](SessionLink link) {
    auto session = std::make_unique<TestSession>(*this, link);
    link.establish();
    return session;
  };
}

// The answers to requests, as they come.
struct Answers {
  std::vector<std::string> texts;
  std::vector<Error> errors;

  Channel::OnAnswer collect() {
    return [this](Answer answer) {
      if (answer.error) {
        errors.push_back(*answer.error);
      } else {
        texts.push_back(text_of(answer.frame));
      }
    };
  }
  size_t count() const { return texts.size() + errors.size(); }
};

inline std::string pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 131 + i / 251);
  return text;
}

inline void EveryNetwork::expect_bytes_in_both_directions() {
  const std::string there = pattern(3000000), back = pattern(2000003);
  near_->send(there);
  far_->send(back);
  run_until([&] { return far_->in.size() == there.size() && near_->in.size() == back.size(); });
  EXPECT_TRUE(far_->in == there);
  EXPECT_TRUE(near_->in == back);
}

// Reading goes on after the own direction has ended.
inline void EveryNetwork::expect_to_end_after_its_bytes() {
  const std::string last = pattern(1000000);
  near_->send(last);
  run_until([this] { return near_->sent == near_->out.size(); });
  near_->stream->shutdown_write();
  run_until([this] { return far_->ended; });
  EXPECT_TRUE(far_->in == last);
  far_->send("understood");
  run_until([this] { return near_->in == "understood"; });
}

inline void EveryNetwork::expect_to_block_until_the_peer_reads() {
  far_->reads = false;
  const std::string much = pattern(20000000);
  run_for(20ms);
  near_->send(much);
  run_for(20ms);
  EXPECT_LT(near_->sent, much.size());
  far_->reads = true;
  far_->stream->wait_readable();
  run_until([&] { return far_->in.size() == much.size(); });
  EXPECT_TRUE(far_->in == much);
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_NET_NET_TEST_H_
