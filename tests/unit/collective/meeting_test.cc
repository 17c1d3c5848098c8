// Ranks that meet, on simulated time: those that never come are named, one that comes late is waited for, and whoever is not
// of the job is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/net/messages.h"
#include "unit/collective/failing_ranks.h"

namespace ps::meeting_test {
namespace {

using testing::HasSubstr;

class Meeting : public FailingRanks {};

TEST_F(Meeting, ARankThatNeverComesIsNamedByAllOthers) {
  for (int bad = 0; bad < kSize; ++bad) {
    ranks_.~SimRanks();
    new (&ranks_) SimRanks(kSize);
    ranks_.options.join_timeout = kTimeout;
    for (int rank = 0; rank < kSize; ++rank) {
      if (rank != bad) ranks_.start(rank, train);
    }
    expect_blamed(bad, ranks_.network.now(), "meeting");
  }
}

TEST_F(Meeting, AllRanksThatNeverComeAreNamed) {
  for (int rank : {0, 2, 3}) ranks_.start(rank, train);
  ASSERT_TRUE(ranks_.run_until_ended(3));
  for (int rank : {0, 2, 3}) {
    ASSERT_TRUE(ranks_.errors[static_cast<size_t>(rank)]);
    EXPECT_THAT(ranks_.errors[static_cast<size_t>(rank)]->message(),
                HasSubstr("ranks 1 and 4 have not come within 40 s"));
  }
}

TEST_F(Meeting, ARankThatComesLateIsWaitedFor) {
  for (int rank : {1, 2, 3, 4}) ranks_.start(rank, [](ExchangeCommunicator& each) { each.barrier(); });
  ranks_.network.run_for(20s);
  ranks_.start(0, [](ExchangeCommunicator& each) { each.barrier(); });
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  for (const auto& error : ranks_.errors) EXPECT_FALSE(error) << error->message();
}

class WrongHello : public FailingRanks {
 protected:
  // A second rank 1, different by `change`, comes first.  It is told why it may not take part, and the others
  // meet without it.
  void expect_refused(const std::function<void(NetCommunicatorOptions&)>& change, const std::string& why) {
    RankErrors errors(1);
    NetCommunicatorOptions wrong = ranks_.options;
    wrong.rank = 1;
    change(wrong);
    SimHost& host = ranks_.network.host("stranger");
    bool refused = false;
    host.spawn([&] {
      errors[0] = error_of([&] { make_net_communicator(host, wrong); });
      refused = true;
    });
    for (int rank : {0, 2, 3, 4}) ranks_.start(rank, [](ExchangeCommunicator& each) { each.barrier(); });
    ASSERT_TRUE(ranks_.network.run_until([&] { return refused; }, 30s));
    ASSERT_TRUE(errors[0]);
    EXPECT_EQ(errors[0]->code(), Code::kUsage);
    EXPECT_THAT(errors[0]->message(), HasSubstr(why));
    EXPECT_LE(ranks_.network.now(), 5s);
    ranks_.start(1, [](ExchangeCommunicator& each) { each.barrier(); });
    ASSERT_TRUE(ranks_.run_until_ended(kSize));
    for (const auto& error : ranks_.errors) EXPECT_FALSE(error) << error->message();
  }
};

TEST_F(WrongHello, AnotherJob) {
  expect_refused([](auto& options) { options.job = "b"; }, "rank 1 is of job 'b', expected ''");
}

TEST_F(WrongHello, AnotherConfiguration) {
  expect_refused([](auto& options) { options.fingerprint = 7; }, "runs another configuration");
}

TEST_F(WrongHello, AnotherNumberOfConnections) {
  expect_refused([](auto& options) { options.connections = 4; },
                 "rank 1 has 4 connections to each other rank, expected 1 connection");
}

TEST_F(WrongHello, AMeasuredNumberOfConnections) {
  expect_refused([](auto& options) { options.connections = kMeasuredConnections; },
                 "rank 1 has 4 connections, of which it measures how many to use, to each other rank, "
                 "expected 1 connection");
}

TEST_F(WrongHello, AnotherSize) {
  expect_refused([](auto& options) { options.size = 4; }, "rank 1 is one of 4 ranks, expected 5");
}

TEST_F(WrongHello, AnotherProtocolVersion) {
  std::string hello = encode_rank_hello({});
  hello[0] = 2;
  const auto error = error_of([&] { decode_rank_hello(hello); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "version 2 of the collectives' protocol, expected 6");
}

TEST_F(WrongHello, ARankThatIsTaken) {
  auto barrier = [](ExchangeCommunicator& each) { each.barrier(); };
  for (int rank : {0, 2, 3, 4}) ranks_.start(rank, barrier);
  ranks_.network.run_for(1s);
  std::optional<Error> error;
  bool refused = false;
  NetCommunicatorOptions wrong = ranks_.options;
  wrong.rank = 2;
  SimHost& host = ranks_.network.host("stranger");
  host.spawn([&] {
    error = error_of([&] { make_net_communicator(host, wrong); });
    refused = true;
  });
  ASSERT_TRUE(ranks_.network.run_until([&] { return refused; }, 30s));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("rank 2 is taken"));
  ranks_.start(1, barrier);
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  for (const auto& each : ranks_.errors) EXPECT_FALSE(each) << each->message();
}

// Whoever knocks and says nothing, or something else, is not taken for a rank, and holds nobody up.
TEST_F(WrongHello, Strangers) {
  auto barrier = [](ExchangeCommunicator& each) { each.barrier(); };
  for (int rank : {0, 2, 3, 4}) ranks_.start(rank, barrier);
  ranks_.network.run_for(1s);
  SimHost& host = ranks_.network.host("stranger");
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<ConnectAttempt>> attempts;
  for (const std::string text :
       {"", "GET / HTTP/1.1\r\n\r\n", "PSK1", "PSK1 and so on, for longer than a header is ......"}) {
    attempts.push_back(host.connect({"rank0", 7000}, 1s, [&, text](std::unique_ptr<Stream> stream, auto) {
      const ConstBytes bytes(text);
      if (!text.empty()) stream->write({&bytes, 1});
      streams.push_back(std::move(stream));
    }));
  }
  ranks_.network.run_for(1s);
  ASSERT_EQ(streams.size(), 4u);
  ranks_.start(1, barrier);
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  for (const auto& each : ranks_.errors) EXPECT_FALSE(each) << each->message();
}

}  // namespace
}  // namespace ps::meeting_test
