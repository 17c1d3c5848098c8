// The simulated network itself: what it does to those on it, the same for the same seed.
#include <algorithm>

#include "net/sim/sim_faults.h"
#include "net_test.h"
#include "support/environment.h"

namespace ps::sim_test {
namespace {

class SimTest : public testing::Test {
 protected:
  void serve() {
    server_ = std::make_unique<Server>(there(), Address{"server", 7164}, ServerOptions(), service_.factory());
  }
  SimHost& here() { return network_.host("client"); }
  SimHost& there() { return network_.host("server"); }
  Channel& channel() {
    if (!channel_) channel_ = std::make_unique<Channel>(here(), pool_, Address{"server", 7164}, options_);
    return *channel_;
  }
  void ask(const std::string& text, Duration timeout = 600s) {
    channel().request(kEcho, Payload(text), timeout, answers_.collect());
  }
  bool run_until_answers(size_t count) {
    return network_.run_until([&] { return answers_.count() == count; }, network_.now() + 1000s);
  }

  SimNetwork network_{7};
  TestService service_;
  ChannelOptions options_;
  BufferPool pool_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Channel> channel_;
  Answers answers_;
};

TEST_F(SimTest, LatencyAndBandwidthAreWhatTheLinkSays) {
  network_.set_default_link({.latency = 3ms, .bytes_per_second = 1e6});
  serve();
  channel().call(kEcho, Payload(), 10s);
  Time start = network_.now();
  channel().call(kEcho, Payload(pattern(100000)), 10s);
  double seconds = to_seconds(network_.now() - start);
  EXPECT_NEAR(seconds, 2 * (0.003 + 0.1), 0.01);
}

TEST_F(SimTest, APartitionHoldsWhatIsSentUntilItHeals) {
  serve();
  ask("before");
  ASSERT_TRUE(run_until_answers(1));
  network_.block(here(), there(), true);
  ask("during");
  network_.run_for(10s);
  EXPECT_EQ(answers_.count(), 1u);
  network_.block(here(), there(), false);
  ASSERT_TRUE(run_until_answers(2));
  EXPECT_EQ(answers_.texts[1], "during");
  EXPECT_EQ(channel().counters().connections_opened, 1u)
      << "10 s are less than the silence that ends a connection";
}

TEST_F(SimTest, ALongPartitionIsFoundBySilenceOnBothSides) {
  serve();
  ask("before");
  ASSERT_TRUE(run_until_answers(1));
  network_.block(here(), there(), true);
  Time start = network_.now();
  options_.on_waiting = nullptr;
  ASSERT_TRUE(network_.run_until(
      [&] { return channel().counters().peers_timed_out == 1 && server_->counters().peers_timed_out == 1; },
      start + 100s));
  EXPECT_LE(network_.now() - start, 20s);
  network_.block(here(), there(), false);
  ask("after");
  ASSERT_TRUE(run_until_answers(2));
}

TEST_F(SimTest, ACutConnectionIsMadeAgain) {
  serve();
  ask("before");
  ASSERT_TRUE(run_until_answers(1));
  ask("during");
  network_.cut(here(), there());
  ASSERT_TRUE(run_until_answers(2));
  EXPECT_EQ(channel().counters().connections_opened, 2u);
}

TEST_F(SimTest, AServerThatCrashesIsFoundSilentAndComesBack) {
  serve();
  ask("before");
  ASSERT_TRUE(run_until_answers(1));
  there().crash();
  server_.reset();
  ask("during");
  network_.run_for(10s);
  EXPECT_EQ(channel().counters().connections_closed, 0u) << "a crash tells nobody";
  network_.run_for(20s);
  EXPECT_EQ(channel().counters().connections_closed, 1u);
  there().restart();
  serve();
  ASSERT_TRUE(run_until_answers(2));
  EXPECT_TRUE(answers_.errors.empty());
}

TEST_F(SimTest, AServerThatIsBackAtOnceResetsTheConnectionsItDoesNotKnow) {
  serve();
  ask("before");
  ASSERT_TRUE(run_until_answers(1));
  there().crash();
  server_.reset();
  there().restart();
  serve();
  Time start = network_.now();
  ask("after");
  ASSERT_TRUE(run_until_answers(2));
  EXPECT_LT(network_.now() - start, 1s);
}

TEST_F(SimTest, AHostThatPausesForLessThanTheTimeoutIsNotTakenForDead) {
  serve();
  ask("before");
  ASSERT_TRUE(run_until_answers(1));
  there().pause();
  ask("during");
  network_.run_for(10s);
  EXPECT_EQ(answers_.count(), 1u);
  there().resume();
  ASSERT_TRUE(run_until_answers(2));
  EXPECT_EQ(channel().counters().connections_opened, 1u);
}

TEST_F(SimTest, AHostThatWasPausedLongDoesNotTakeItsPeersForDead) {
  options_.connection.silence_timeout = 10000s;
  serve();
  ask("before");
  ASSERT_TRUE(run_until_answers(1));
  there().pause();
  network_.run_for(1000s);
  there().resume();
  network_.run_for(60s);
  EXPECT_EQ(server_->num_connections(), 1u);
}

TEST_F(SimTest, AThousandQuietSecondsTakeNoTime) {
  serve();
  std::vector<std::unique_ptr<Channel>> channels;
  for (int i = 0; i < 20; ++i) {
    channels.push_back(std::make_unique<Channel>(here(), pool_, Address{"server", 7164}, options_));
    channels.back()->connect();
  }
  const auto quiet = tries(5000) * 1s;
  network_.run_for(quiet);
  EXPECT_EQ(server_->num_connections(), 20u);
  EXPECT_GT(server_->counters().frames_received, static_cast<uint64_t>(4 * (quiet / 1s)));
}

TEST_F(SimTest, TimersThatComeEarlierLeaveNoTrail) {
  Loop& loop = here().loop();
  int woken = 0;
  Timer late(loop, [&late] { late.start_after(10s); }), early(loop, [] {});
  late.start_after(10s);
  for (int i = 0; i < 100; ++i) {
    early.start_after(1s);
    network_.run_for(2s);
  }
  network_.run_until([&woken] { return ++woken < 0; }, network_.now() + 1000s);
  EXPECT_LE(woken, 110) << "one event for each time that a timer fires";
}

TEST_F(SimTest, ProcessesBlockAndOthersGoOn) {
  serve();
  std::vector<std::string> log;
  for (int p = 0; p < 3; ++p) {
    SimHost& host = network_.host(cat("trainer-", p));
    host.spawn([&, p] {
      Channel own(host, pool_, Address{"server", 7164}, ChannelOptions());
      for (int i = 0; i < 5; ++i) {
        std::string text = cat(p, ".", i);
        EXPECT_EQ(text_of(own.call(kEcho, Payload(text), 10s)), text);
        log.push_back(text);
        EXPECT_FALSE(host.loop().run_until([] { return false; }, host.loop().now() + 10ms));
      }
    });
  }
  ASSERT_TRUE(network_.run_until([this] { return network_.processes_ended(); }, 100s));
  EXPECT_EQ(log.size(), 15u);
  EXPECT_EQ(log[1], "1.0") << "they take turns";
}

TEST_F(SimTest, WhatAProcessThrowsComesOut) {
  here().spawn([] { fail(Code::kData, "bad"); });
  EXPECT_THROW(network_.run_until([this] { return network_.processes_ended(); }, 1s), Error);
}

TEST_F(SimTest, WhatAProcessWaitsForMayThrowInTheProcess) {
  std::string caught;
  bool comes = false;
  here().spawn([&] {
    try {
      here().loop().run_until([&] { return comes ? throw Error(Code::kData, "bad") : false; }, kNever);
    } catch (const Error& error) {
      caught = error.message();
    }
  });
  network_.run_for(1s);
  comes = true;
  here().loop().post([] {});
  EXPECT_TRUE(network_.run_until([this] { return network_.processes_ended(); }, 10s));
  EXPECT_EQ(caught, "bad");
}

TEST_F(SimTest, AProcessThatNeverEndsIsUnwound) {
  bool unwound = false;
  {
    SimNetwork network(1);
    SimHost& host = network.host("a");
    host.spawn([&] {
      struct Guard {
        bool& flag;
        ~Guard() { flag = true; }
      } guard{unwound};
      host.loop().run_until([] { return false; }, kNever);
    });
    network.run_for(1s);
    EXPECT_FALSE(unwound);
  }
  EXPECT_TRUE(unwound);
}

// A counter for each client, as a parameter server would keep it: every push is (client, sequence), applied
// once.
struct Counters {
  std::map<std::string, uint64_t> next, sum;

  Server::SessionFactory factory() {
    struct Pushes final : Session {
      explicit Pushes(Counters& all) : counters(all) {}
      std::optional<uint64_t> max_body_bytes(uint16_t) override { return 100000; }
      void on_request(Frame frame, Responder& responder) override {
        std::string text = text_of(frame);
        std::vector<std::string_view> parts = split(text, ' ');
        std::string client(parts[0]);
        uint64_t sequence = *parse_uint(parts[1]);
        uint64_t& expected = counters.next[client];
        if (sequence == expected) ++expected, counters.sum[client] += sequence;
        responder.answer(Payload(std::to_string(expected)));
      }
      Counters& counters;
    };
    return [this](SessionLink link) {
      link.establish();
      return std::make_unique<Pushes>(*this);
    };
  }
};

// Three blocking clients push to a server while the network does its worst.  Returns what happened, to
// compare.
std::string run_cluster(uint64_t seed) {
  constexpr uint64_t kPushes = 40;
  SimNetwork network(seed);
  network.set_default_link(
      {.latency = 1ms, .jitter = 2ms, .bytes_per_second = 1e7, .window_bytes = 20000, .split = true});
  SimHost& there = network.host("server");
  Counters counters;
  BufferPool pool;
  Server server(there, {"server", 1}, ServerOptions(), counters.factory());
  std::vector<SimHost*> hosts{&there};
  for (int c = 0; c < 3; ++c) {
    SimHost& host = network.host(cat("client-", c));
    hosts.push_back(&host);
    host.spawn([&, c] {
      Channel own(host, pool, Address{"server", 1}, {.give_up_after = kNever, .seed = seed + c});
      for (uint64_t i = 0; i < kPushes; ++i) {
        own.call(kEcho, Payload(cat("c", c, " ", i, " ", std::string(seed * 131 % 30000, 'x'))), 1000s);
        host.loop().run_until([] { return false; }, host.loop().now() + 200ms);
      }
    });
  }
  SimFaults faults(network, hosts, {.mean_interval = 2s, .longest = 30s});
  EXPECT_TRUE(network.run_until([&] { return network.processes_ended(); }, 5000s)) << "seed " << seed;
  for (auto& [client, sum] : counters.sum)
    EXPECT_EQ(sum, kPushes * (kPushes - 1) / 2) << client << ", seed " << seed;
  EXPECT_EQ(counters.sum.size(), 3u);
  const NetCounters& seen = server.counters();
  return cat(network.now().count(), " ", faults.num_faults(), " ", seen.connections_opened, " ",
             seen.bytes_received);
}

TEST(SimCluster, EveryPushIsAppliedOnceUnderAHundredSeedsOfFaults) {
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(tries(100)); ++seed) run_cluster(seed);
}

TEST(SimCluster, TheSameSeedRunsTheSame) {
  EXPECT_EQ(run_cluster(11), run_cluster(11));
  EXPECT_NE(run_cluster(11), run_cluster(12));
}

}  // namespace
}  // namespace ps::sim_test
