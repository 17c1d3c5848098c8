// Streams, in the same way over the simulated network, TCP and a shaped link.
#include "net/transport.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "net/shaped_transport.h"
#include "net_test.h"

namespace ps::transport_test {
namespace {

class TransportTest : public EveryNetwork {
 protected:
  void connect() { connect(world_->client(), world_->server()); }

  void connect(Transport& client, Transport& server) {
    listen(server);
    const std::optional<Error> error = connect_through(client);
    ASSERT_FALSE(error) << error->what();
    run_until([this] { return near_ && far_; });
  }

  // How connecting to `address` fails.
  Error refused(const Address& address, Duration timeout = 5s) {
    std::optional<Error> found;
    auto attempt =
        world_->client().connect(address, timeout, [&found](std::unique_ptr<Stream> stream, auto error) {
          EXPECT_EQ(stream, nullptr);
          found = error;
        });
    run_until([&found] { return found.has_value(); });
    return *found;
  }
};

TEST_P(TransportTest, BytesArriveInOrderInBothDirections) {
  connect();
  expect_bytes_in_both_directions();
}

TEST_P(TransportTest, AShutDownStreamEndsAfterItsBytesAndGoesOnReading) {
  connect();
  expect_to_end_after_its_bytes();
}

TEST_P(TransportTest, ADestroyedStreamEndsThePeers) {
  connect();
  near_.reset();
  run_until([this] { return far_->ended || far_->error != 0; });
}

TEST_P(TransportTest, AFullStreamBlocksAndBecomesWritableWhenThePeerReads) {
  connect();
  expect_to_block_until_the_peer_reads();
}

TEST_P(TransportTest, NobodyThereIsUnavailableAndSaysWho) {
  connect();
  Address address = listener_->address();
  listener_.reset();
  Error error = refused(address);
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), testing::HasSubstr(cat("'", to_text(address), "'")));
  EXPECT_THAT(error.message(), testing::EndsWith("onnection refused"));
}

TEST_P(TransportTest, AnAttemptThatIsGivenUpCallsNobody) {
  connect();
  auto attempt = world_->client().connect(listener_->address(), 5s, [](auto, auto) { FAIL(); });
  attempt.reset();
  run_for(20ms);
}

TEST_P(TransportTest, AListenerThatIsTakenIsRefused) {
  connect();
  EXPECT_THROW(world_->server().listen(listener_->address(), nullptr), Error);
}

TEST_P(TransportTest, AShapedLinkIsSlowAndLateAndLosesNothing) {
  LinkShape shape{.bytes_per_second = 20e6, .burst_bytes = 10000, .latency = 20ms};
  ShapedTransport slow(world_->client(), shape);
  connect(slow, world_->server());
  Loop& loop = world_->client().loop();
  Time start = loop.now();
  near_->send("x");
  run_until([this] { return far_->in.size() == 1; });
  EXPECT_GE(loop.now() - start, 20ms);
  std::string much = pattern(2000000);
  start = loop.now();
  near_->send(much);
  run_until([&] { return far_->in.size() == 1 + much.size(); });
  EXPECT_GE(loop.now() - start, 20ms + 99ms);
  EXPECT_TRUE(far_->in == "x" + much);
  near_->stream->shutdown_write();
  run_until([this] { return far_->ended; });
}

TEST_P(TransportTest, AShapedLinkHoldsWhatWasWrittenUntilItsTime) {
  ShapedTransport slow(world_->client(), {.bytes_per_second = 10e6, .burst_bytes = 1000});
  connect(slow, world_->server());
  near_->send(pattern(50000));
  EXPECT_EQ(near_->sent, 50000u) << "the line takes all";
  EXPECT_EQ(near_->stream->held_bytes(), 50000u);
  run_until([this] { return near_->stream->held_bytes() == 0; });
  run_until([this] { return far_->in.size() == 50000; });
}

TEST_P(TransportTest, BytesAreUndeliveredUntilThePeerHasThem) {
  connect();
  far_->reads = false;
  near_->send(pattern(20 << 20));
  run_for(20ms);
  EXPECT_LT(near_->sent, near_->out.size());
  EXPECT_GT(near_->stream->undelivered_bytes(), 0u);
  far_->reads = true;
  far_->on_readable();
  run_until([this] { return far_->in.size() == near_->out.size(); });
  run_until([this] { return near_->stream->undelivered_bytes() == 0; });
}

TEST_P(TransportTest, ALinkWithoutAShapeHoldsNothing) {
  ShapedTransport as_it_is(world_->client(), {});
  connect(as_it_is, world_->server());
  near_->send(pattern(50000));
  EXPECT_EQ(near_->sent, 50000u);
  EXPECT_EQ(near_->stream->held_bytes(), 0u);
}

TEST_P(TransportTest, TheConnectionsOfAShapedLinkShareItsRate) {
  ShapedTransport slow(world_->client(), {.bytes_per_second = 10e6, .burst_bytes = 1000});
  connect(slow, world_->server());
  std::unique_ptr<End> first_near = std::move(near_), first_far = std::move(far_);
  connect(slow, world_->server());
  Loop& loop = world_->client().loop();
  Time start = loop.now();
  first_near->send(pattern(500000));
  near_->send(pattern(500000));
  run_until([&] { return first_far->in.size() + far_->in.size() == 1000000; });
  EXPECT_GE(loop.now() - start, 99ms);
}

TEST_P(TransportTest, WithOneRateAcceptedAndConnectedStreamsShareIt) {
  ShapedTransport slow(world_->server(), {.bytes_per_second = 10e6, .burst_bytes = 1000, .one_rate = true});
  connect(world_->client(), slow);
  std::unique_ptr<End> first_near = std::move(near_), first_far = std::move(far_);
  connect(slow, world_->server());
  Loop& loop = world_->client().loop();
  Time start = loop.now();
  first_far->send(pattern(500000));
  near_->send(pattern(500000));
  run_until([&] { return first_near->in.size() + far_->in.size() == 1000000; });
  EXPECT_GE(loop.now() - start, 99ms);
}

PS_ON_EVERY_NETWORK(TransportTest);

class TcpTest : public TransportTest {};

TEST_P(TcpTest, NamesAndBothFamiliesWork) {
  for (const char* host : {"localhost", "127.0.0.1", "::1"}) {
    bool accepted = false;
    std::unique_ptr<Listener> listener;
    try {
      listener = world_->server().listen({host, 0}, [&accepted](auto) { accepted = true; });
    } catch (const Error& error) {
      ASSERT_STREQ(host, "::1") << error.what();  // a machine without IPv6
      continue;
    }
    auto attempt = world_->client().connect(listener->address(), 5s,
                                            [](auto, auto error) { ASSERT_FALSE(error) << error->what(); });
    run_until([&accepted] { return accepted; });
  }
}

TEST_P(TcpTest, AnEmptyHostListensForAll) {
  bool accepted = false;
  auto listener = world_->server().listen({"", 0}, [&accepted](auto) { accepted = true; });
  auto attempt = world_->client().connect({"127.0.0.1", listener->address().port}, 5s,
                                          [](auto, auto error) { EXPECT_FALSE(error); });
  run_until([&accepted] { return accepted; });
}

TEST_P(TcpTest, ANameThatIsNoneIsUnavailable) {
  Error error = refused({"no-such-host.invalid", 1});
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), testing::HasSubstr("'no-such-host.invalid:1'"));
}

// Leaves the process room for `more` descriptors as long as it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    int next = dup(0);
    close(next);
    rlimit few{static_cast<rlim_t>(next) + more, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_P(TcpTest, AcceptingGoesOnWhenThereAreDescriptorsAgain) {
  connect();
  std::unique_ptr<End> other;
  far_.reset();
  run_until([this] { return near_->ended; });
  auto few = std::make_unique<FewDescriptors>(1);
  auto attempt = world_->client().connect(
      listener_->address(), 5s,
      [&other](std::unique_ptr<Stream> stream, auto) { other = std::make_unique<End>(std::move(stream)); });
  run_until([&other] { return other != nullptr; });
  run_for(70ms);
  EXPECT_EQ(far_, nullptr) << "there was no descriptor for it";
  few.reset();
  run_until([this] { return far_ != nullptr; });
}

TEST_P(TcpTest, AnAddressOfAnotherHostCannotBeListenedOn) {
  try {
    world_->server().listen({"192.0.2.1", 0}, nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, TcpTest, testing::Values("tcp", "local"));

}  // namespace
}  // namespace ps::transport_test
