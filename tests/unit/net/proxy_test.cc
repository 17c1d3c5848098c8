// Faults of a network at every point of a frame: every request gets its own answer all the same.
#include "net/sim/proxy.h"

#include <algorithm>

#include "net/shaped_transport.h"
#include "net_test.h"

namespace ps::proxy_test {
namespace {

constexpr size_t kBody = 3000;

class ProxyTest : public EveryNetwork {
 protected:
  ProxyTest() {
    channel_options_.backoff.first = 2ms;
    // A frame that the proxy holds back looks like silence.
    channel_options_.connection.alive_interval = 10ms;
    channel_options_.connection.silence_timeout = 60ms;
    server_options_.connection = channel_options_.connection;
  }

  // For links that are slow: what comes late is no silence.
  void wait_patiently() {
    channel_options_.connection.silence_timeout = server_options_.connection.silence_timeout = 20s;
  }

  void connect(Proxy::Script script) {
    server_ =
        std::make_unique<Server>(world_->server(), world_->any_port(), server_options_, service_.factory());
    proxy_ =
        std::make_unique<Proxy>(world_->server(), world_->any_port(), server_->address(), std::move(script));
    channel_ = std::make_unique<Channel>(world_->client(), pool_, proxy_->address(), channel_options_);
  }

  // Asks three things at once; each must come to its answer.
  void ask_three() {
    size_t before = answers_.texts.size();
    for (int i = 0; i < 3; ++i) {
      texts_.push_back(pattern(kBody + texts_.size()));
      channel_->request(kEcho, Payload(texts_.back()), 25s, answers_.collect());
    }
    run_until([&] { return answers_.texts.size() + answers_.errors.size() == before + 3; });
    ASSERT_TRUE(answers_.errors.empty()) << answers_.errors[0].what();
    std::vector<std::string> got = answers_.texts, asked = texts_;
    std::sort(got.begin(), got.end());
    std::sort(asked.begin(), asked.end());
    ASSERT_TRUE(got == asked);
  }

  // One fault, in the `number`th frame of `direction` that carries something.
  Proxy::Script once(ProxyDirection direction, int number, ProxyFault fault) {
    return [direction, number, fault, seen = 0](ProxyDirection where, const FrameHeader& header) mutable {
      bool here = where == direction && header.type == kEcho && seen++ == number;
      return here ? fault : ProxyFault();
    };
  }

  void survive(ProxyFault fault) {
    for (ProxyDirection direction : {ProxyDirection::kToTarget, ProxyDirection::kToClient}) {
      for (int number : {0, 1, 2}) {
        SCOPED_TRACE(cat("fault ", int{fault.kind}, " at byte ", fault.at_byte, " of frame ", number,
                         direction == ProxyDirection::kToTarget ? " to the server" : " to the client"));
        answers_ = {};
        texts_.clear();
        service_.requests.clear();
        connect(once(direction, number, fault));
        ask_three();
        EXPECT_EQ(proxy_->num_faults(), 1u);
        ask_three();
        channel_.reset();
      }
    }
  }

  TestService service_;
  ServerOptions server_options_;
  ChannelOptions channel_options_;
  BufferPool pool_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<Channel> channel_;
  Answers answers_;
  std::vector<std::string> texts_;
};

// Before the header, in it, at its end, in the body, at its last byte.
constexpr uint64_t kPhases[] = {0,
                                1,
                                20,
                                kFrameHeaderBytes - 1,
                                kFrameHeaderBytes,
                                kFrameHeaderBytes + kBody / 2,
                                kFrameHeaderBytes + kBody - 1};

TEST_P(ProxyTest, WithoutFaultsEverythingPasses) {
  connect(nullptr);
  ask_three();
  connect([](ProxyDirection, const FrameHeader&) { return ProxyFault(); });
  texts_.clear(), answers_ = {};
  ask_three();
  EXPECT_GT(proxy_->bytes_passed(), 6 * kBody);
  EXPECT_EQ(proxy_->num_faults(), 0u);
}

TEST_P(ProxyTest, ACutAnywhereIsSurvived) {
  for (uint64_t phase : kPhases) survive({.kind = ProxyFault::kCut, .at_byte = phase});
}

TEST_P(ProxyTest, SilenceAnywhereIsSurvived) {
  for (uint64_t phase : {uint64_t{0}, uint64_t{20}, kFrameHeaderBytes + kBody / 2}) {
    survive({.kind = ProxyFault::kHold, .at_byte = phase});
  }
}

TEST_P(ProxyTest, ADelayAnywhereIsSurvived) {
  for (uint64_t phase : kPhases) survive({.kind = ProxyFault::kDelay, .at_byte = phase, .delay = 5ms});
}

TEST_P(ProxyTest, ADamagedByteAnywhereIsSurvived) {
  for (uint64_t phase : kPhases) survive({.kind = ProxyFault::kFlip, .at_byte = phase});
}

TEST_P(ProxyTest, FramesThatComeTwiceOrInAnotherOrderAreSurvived) {
  survive({.kind = ProxyFault::kDuplicate});
  survive({.kind = ProxyFault::kSwap, .delay = 5ms});
}

TEST_P(ProxyTest, WhatIsHeldGoesOnWhenReleased) {
  connect(once(ProxyDirection::kToTarget, 0, {.kind = ProxyFault::kHold, .at_byte = 50}));
  channel_->request(kEcho, Payload(pattern(kBody)), 25s, answers_.collect());
  run_until([this] { return proxy_->num_faults() == 1; });
  proxy_->release();
  run_until([this] { return answers_.texts.size() == 1; });
  EXPECT_EQ(channel_->counters().requests_resent, 0u);
}

TEST_P(ProxyTest, AllConnectionsCanBeCutAndLedElsewhere) {
  connect(nullptr);
  ask_three();
  server_.reset();
  server_ =
      std::make_unique<Server>(world_->server(), world_->any_port(), server_options_, service_.factory());
  proxy_->set_target(server_->address());
  proxy_->cut();
  ask_three();
  EXPECT_EQ(server_->num_connections(), 1u);
}

TEST_P(ProxyTest, ALinkOfLessBandwidthAndMoreLatencyCarriesFrames) {
  wait_patiently();
  server_ =
      std::make_unique<Server>(world_->server(), world_->any_port(), server_options_, service_.factory());
  ShapedTransport slow(world_->server(), {.bytes_per_second = 20e6, .burst_bytes = 1000, .latency = 5ms});
  Proxy proxy(slow, world_->any_port(), server_->address());
  Channel asking(world_->client(), pool_, proxy.address(), channel_options_);
  asking.call(kEcho, Payload(), 20s);
  Loop& loop = world_->client().loop();
  Time start = loop.now();
  asking.call(kEcho, Payload(), 20s);
  EXPECT_GE(loop.now() - start, 10ms) << "5 ms each way";
  start = loop.now();
  EXPECT_EQ(text_of(asking.call(kEcho, Payload(pattern(400000)), 20s)), pattern(400000));
  EXPECT_GE(loop.now() - start, 49ms) << "400 kB there and back at 20 MB/s, and 5 ms each way";
}

TEST_P(ProxyTest, EachDirectionOfALinkHasItsWholeBandwidth) {
  wait_patiently();
  server_ =
      std::make_unique<Server>(world_->server(), world_->any_port(), server_options_, service_.factory());
  ShapedTransport slow(world_->server(), {.bytes_per_second = 1e6, .burst_bytes = 1000});
  Proxy proxy(slow, world_->any_port(), server_->address());
  Channel asking(world_->client(), pool_, proxy.address(), channel_options_);
  asking.call(kEcho, Payload(), 20s);
  Loop& loop = world_->client().loop();
  const Time start = loop.now();
  int answered = 0;
  for (int i = 0; i < 10; ++i) {
    asking.request(kEcho, Payload(pattern(20000)), 20s, [&](Answer answer) {
      ++answered;
      EXPECT_EQ(text_of(answer.take()), pattern(20000));
    });
  }
  loop.run_until([&] { return answered == 10; }, kNever);
  EXPECT_GE(loop.now() - start, 199ms) << "200 kB one way at 1 MB/s";
  if (std::string_view(GetParam()) != "simulated") return;  // a machine may be slower
  EXPECT_LT(loop.now() - start, 399ms) << "answers go back while requests come";
}

PS_ON_EVERY_NETWORK(ProxyTest);

}  // namespace
}  // namespace ps::proxy_test
