// Ranks that die, fall silent, or call something else, on simulated time: every other rank is told which one, within
// the deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collective/algorithm.h"
#include "collective/blame.h"
#include "unit/collective/failing_ranks.h"

namespace ps::failures_test {
namespace {

using testing::HasSubstr;

class Failures : public FailingRanks {};

class EveryAlgorithm : public Failures, public testing::WithParamInterface<const AllReduceAlgorithm*> {
 protected:
  EveryAlgorithm() { ranks_.options.algorithm = GetParam()->name; }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm, testing::ValuesIn(all_reduce_catalog()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST_P(EveryAlgorithm, ARankThatDiesIsNamedByAllOthersAtOnce) {
  ranks_.start_all(train);
  ranks_.network.run_for(12ms);
  ranks_.host(2).kill();
  const Time died = ranks_.network.now();
  expect_blamed(2, died);
  for (const auto& [rank, ended] : ranks_.ended_at) {
    if (rank != 2) {
      EXPECT_LE(ended - died, 3s) << rank;
    }
  }
}

TEST_P(EveryAlgorithm, ARankThatFallsSilentIsNamedByAllOthersWithinTheDeadline) {
  ranks_.start_all(train);
  ranks_.network.run_for(12ms);
  ranks_.host(3).pause();
  expect_blamed(3, ranks_.network.now());
}

TEST_P(EveryAlgorithm, AHostWhosePowerFailsIsNamedByAllOthersWithinTheDeadline) {
  ranks_.start_all(train);
  ranks_.network.run_for(12ms);
  ranks_.host(1).crash();
  expect_blamed(1, ranks_.network.now());
}

// It is alive, and waits for something else, without end.
TEST_P(EveryAlgorithm, ARankThatDoesNotCallIsNamedByAllOthersWithinTheDeadline) {
  Time stopped{};
  ranks_.start_all([&](ExchangeCommunicator& communicator) {
    std::vector<float> data(100000);
    for (int i = 0; communicator.rank() != 4 || i < 3; ++i) communicator.all_reduce(data);
    stopped = ranks_.network.now();
    ranks_.host(4).loop().run_until([] { return false; }, kNever);
  });
  expect_blamed(4, stopped + 1s);
}

// They are in no collective, and ask now and then.
TEST_F(Failures, ARankThatDiesIsKnownToOthersThatWaitForSomethingElse) {
  ranks_.start_all([&](ExchangeCommunicator& communicator) {
    communicator.barrier();
    Loop& loop = ranks_.host(communicator.rank()).loop();
    for (;; communicator.check_others()) loop.run_until([] { return false; }, add_time(loop.now(), 100ms));
  });
  ranks_.network.run_for(500ms);
  EXPECT_TRUE(ranks_.ended_at.empty()) << "nobody has died";
  ranks_.host(2).kill();
  const Time died = ranks_.network.now();
  expect_blamed(2, died);
  for (const auto& [rank, ended] : ranks_.ended_at) EXPECT_LE(ended - died, 3s) << rank;
}

// Any moment of the meeting and of the first collectives, or of the measuring of connections.
TEST_F(Failures, ARankThatDiesAtAnyMomentIsNamedByAllOthers) {
  for (int step = 0; step < 80; ++step) {
    const bool measures = step >= 40;
    SimRanks ranks(3);
    ranks.options.timeout = ranks.options.join_timeout = kTimeout;
    if (measures) ranks.options.connections = kMeasuredConnections;
    ranks.options.algorithm = "direct";
    ranks.start_all(train);
    const int bad = step % 3;
    ranks.network.run_for(measures ? (step - 40) * 1500us : step * 50us);
    ranks.host(bad).kill();
    const Time died = ranks.network.now();
    ASSERT_TRUE(ranks.run_until_ended(2)) << "step " << step;
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == bad) continue;
      const auto& error = ranks.errors[static_cast<size_t>(rank)];
      ASSERT_TRUE(error);
      EXPECT_THAT(error->message(), HasSubstr(cat("rank ", bad))) << "step " << step << ", rank " << rank;
      EXPECT_LE(ranks.ended_at[rank] - died, kTimeout) << "step " << step;
    }
  }
}

TEST_F(Failures, ALongComputationBetweenCollectivesIsNoFailure) {
  ranks_.start_all([&](ExchangeCommunicator& communicator) {
    for (int i = 0; i < 3; ++i) {
      communicator.barrier();
      Loop& loop = ranks_.host(communicator.rank()).loop();
      if (communicator.rank() == i) loop.run_until([] { return false; }, loop.now() + kTimeout / 2);
    }
    communicator.barrier();
  });
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  for (const auto& error : ranks_.errors) EXPECT_FALSE(error) << error->message();
}

// As long as it answers; one that does not is named as ever.
TEST_F(Failures, APatientRankWaitsForOneThatIsBusyLongerThanTheTimeout) {
  ranks_.options.patient = true;
  ranks_.start_all([&](ExchangeCommunicator& communicator) {
    Loop& loop = ranks_.host(communicator.rank()).loop();
    communicator.barrier();
    if (communicator.rank() == 2) loop.run_until([] { return false; }, loop.now() + 3 * kTimeout);
    train(communicator);
  });
  ranks_.network.run_for(3 * kTimeout + 12ms);
  EXPECT_TRUE(ranks_.ended_at.empty());
  ranks_.host(3).pause();
  expect_blamed(3, ranks_.network.now());
}

TEST_F(Failures, ARankThatEndsByAnExceptionIsNamed) {
  ranks_.start_all([](ExchangeCommunicator& communicator) {
    communicator.barrier();
    if (communicator.rank() == 2) fail(Code::kData, "bad input");
    train(communicator);
  });
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  EXPECT_EQ(ranks_.errors[2]->message(), "bad input");
  ranks_.errors[2].reset();
  expect_blamed(2, ranks_.network.now());
}

TEST_F(Failures, ARankThatLeavesIsNamedByThoseWhoWaitForIt) {
  ranks_.start_all([](ExchangeCommunicator& communicator) {
    communicator.barrier();
    if (communicator.rank() != 2) train(communicator);
  });
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  EXPECT_FALSE(ranks_.errors[2]);
  expect_blamed(2, ranks_.network.now());
}

// A rank that has received everything may leave while others still receive.
TEST_F(Failures, ARankThatLeavesAfterTheLastCollectiveDisturbsNobody) {
  ranks_.network.set_default_link({.latency = 1ms, .jitter = 5ms, .bytes_per_second = 1e7, .split = true});
  for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
    const RankErrors errors = run_simulated(7, algorithm->name, [](ExchangeCommunicator& communicator) {
      std::vector<float> data(100000);
      communicator.all_reduce(data);
    });
    for (const auto& error : errors) EXPECT_FALSE(error) << algorithm->name << ": " << error->message();
  }
}

TEST_F(Failures, DifferentCallsAreTold) {
  ranks_.start_all([](ExchangeCommunicator& communicator) {
    std::vector<float> data(10);
    communicator.rank() == 1 ? communicator.barrier() : communicator.all_reduce(data);
  });
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  bool told = false;
  for (const auto& error : ranks_.errors) {
    ASSERT_TRUE(error);
    told = told || error->message().find("all ranks must call the same collectives") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST_F(Failures, DifferentNumbersOfElementsAreTold) {
  ranks_.options.algorithm = "direct";
  ranks_.start_all([](ExchangeCommunicator& communicator) {
    std::vector<float> data(communicator.rank() == 1 ? 11 : 10);
    communicator.all_reduce(data);
  });
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  bool told = false;
  for (const auto& error : ranks_.errors) {
    ASSERT_TRUE(error);
    told = told || error->message().find("sent 44 bytes for all-reduce 1, expected 40") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

// In one round rank 0 has one chunk for the others, and in two rounds they have marks.
TEST_F(Failures, DifferentNumbersOfElementsAreToldWhereTheyMeanOtherRounds) {
  ranks_.options.algorithm = "direct";
  ranks_.start_all([](ExchangeCommunicator& communicator) {
    std::vector<float> data(communicator.rank() == 1 ? 8193 : 8192);
    communicator.all_reduce(data);
  });
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
  bool told = false;
  for (const auto& error : ranks_.errors) {
    ASSERT_TRUE(error);
    told =
        told || (error->message().find(" mark") != std::string::npos &&
                 error->message().find("all ranks must call it for as many elements") != std::string::npos);
  }
  EXPECT_TRUE(told);
}

TEST_F(Failures, AnErrorIsForGood) {
  ranks_.start_all([](ExchangeCommunicator& communicator) {
    if (communicator.rank() == 0) return;
    const auto first = error_of([&] { train(communicator); });
    const auto second = error_of([&] { communicator.barrier(); });
    ASSERT_TRUE(first && second);
    EXPECT_EQ(second->message(), first->message());
  });
  ASSERT_TRUE(ranks_.run_until_ended(kSize));
}

// ---- several connections to each rank

class SeveralConnections : public Failures {
 protected:
  SeveralConnections() {
    ranks_.options.connections = 3;
    ranks_.options.algorithm = "direct";
  }
};

TEST_F(SeveralConnections, ARankThatFallsSilentIsNamedByAllOthersWithinTheDeadline) {
  ranks_.start_all(train);
  ranks_.network.run_for(12ms);
  ranks_.host(3).pause();
  expect_blamed(3, ranks_.network.now());
}

// Any moment of the meeting, at which some of its connections are made and others are not, and of the first collectives.
TEST_F(SeveralConnections, ARankThatDiesAtAnyMomentIsNamedByAllOthers) {
  for (int step = 0; step < 60; ++step) {
    ranks_.~SimRanks();
    new (&ranks_) SimRanks(kSize);
    ranks_.options.timeout = ranks_.options.join_timeout = kTimeout;
    ranks_.options.connections = 2 + step % 3;
    ranks_.start_all(train);
    ranks_.network.run_for(step * 40us);
    ranks_.host(step % kSize).kill();
    expect_blamed(step % kSize, ranks_.network.now(), cat("step ", step));
  }
}

TEST_F(SeveralConnections, ARankThatLeavesAfterTheLastCollectiveDisturbsNobody) {
  const SimLink slow{.latency = 1ms, .jitter = 5ms, .bytes_per_second = 1e7, .split = true};
  const RankBody body = [](ExchangeCommunicator& communicator) {
    std::vector<float> data(300000);
    communicator.all_reduce(data);
  };
  for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
    for (const auto& error : run_simulated_over(slow, 4, algorithm->name, body, 4))
      EXPECT_FALSE(error) << algorithm->name << ": " << error->message();
  }
}

// A stream that is reset once so many bytes were written to it.
class BreakingStream final : public Stream {
 public:
  BreakingStream(std::unique_ptr<Stream> behind, int64_t bytes) : behind_(std::move(behind)), left_(bytes) {}

  IoResult read(std::span<const MutableBytes> into) override { return behind_->read(into); }
  IoResult write(std::span<const ConstBytes> from) override {
    if (left_ < 0) return {0, ECONNRESET};
    const IoResult written = behind_->write(from);
    left_ -= static_cast<int64_t>(written.bytes);
    return written;
  }
  void wait_readable() override { behind_->wait_readable(); }
  void wait_writable() override { behind_->wait_writable(); }
  uint64_t undelivered_bytes() const override { return behind_->undelivered_bytes(); }
  void shutdown_write() override { behind_->shutdown_write(); }
  void set_events(Events* events) override { behind_->set_events(events); }
  const std::string& peer() const override { return behind_->peer(); }

 private:
  const std::unique_ptr<Stream> behind_;
  int64_t left_;
};

// Breaks one of the connections that a host makes, the `which`th, after some bytes.
class BreakingTransport final : public Transport {
 public:
  BreakingTransport(Transport& behind, int which, int64_t bytes)
      : behind_(behind), which_(which), bytes_(bytes) {}

  Loop& loop() override { return behind_.loop(); }
  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override {
    return behind_.listen(address, std::move(on_accept));
  }
  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override {
    if (num_++ != which_) return behind_.connect(address, timeout, std::move(on_connect));
    return behind_.connect(
        address, timeout,
        [this, on_connect = std::move(on_connect)](std::unique_ptr<Stream> made, std::optional<Error> error) {
          if (made != nullptr) made = std::make_unique<BreakingStream>(std::move(made), bytes_);
          on_connect(std::move(made), std::move(error));
        });
  }

 private:
  Transport& behind_;
  const int which_;
  const int64_t bytes_;
  int num_ = 0;
};

// The other connections to it go on.  Both ends name the other one, and all others one of the two.
TEST_F(SeveralConnections, WhenOneIsLostItsRankIsLost) {
  for (int which = 0; which < 9; ++which) {  // rank 3 makes three connections to each of the ranks 0, 1 and 2
    SimRanks ranks(kSize);
    ranks.options.timeout = kTimeout;
    ranks.options.connections = 3;
    for (int rank : {0, 1, 2, 4}) ranks.start(rank, train);
    ranks.host(3).spawn([&] {
      ranks.errors[3] = error_of([&] {
        BreakingTransport breaks(ranks.host(3), which, 1 << 20);
        NetCommunicatorOptions own = ranks.options;
        own.rank = 3;
        train(*make_net_communicator(breaks, own));
      });
      ranks.ended_at[3] = ranks.network.now();
    });
    ASSERT_TRUE(ranks.run_until_ended(kSize)) << which;
    const int other = which / 3;
    for (int rank = 0; rank < kSize; ++rank) {
      const auto& error = ranks.errors[static_cast<size_t>(rank)];
      ASSERT_TRUE(error) << which;
      EXPECT_EQ(error->code(), Code::kUnavailable) << error->message();
      const std::string named = rank == 3 ? cat("rank ", other) : "rank 3";
      if (rank == 3 || rank == other) {
        EXPECT_THAT(error->message(), HasSubstr(named)) << which;
      }
      EXPECT_LE(to_seconds(ranks.ended_at[rank] - ranks.ended_at[3]), 3) << which << ", rank " << rank;
    }
  }
}

// ---- threads that share memory, and TCP

constexpr int kSize = FailingRanks::kSize;

void expect_named(const RankErrors& errors, int bad) {
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    if (static_cast<int>(rank) == bad) continue;
    ASSERT_TRUE(errors[rank]) << rank;
    EXPECT_EQ(errors[rank]->code(), Code::kUnavailable);
    EXPECT_THAT(errors[rank]->message(), HasSubstr(cat("rank ", bad)));
  }
}

void train_but_fail_on_rank_2(ExchangeCommunicator& communicator) {
  std::vector<float> data(100000);
  for (int i = 0; i < 3; ++i) communicator.all_reduce(data);
  if (communicator.rank() == 2) fail(Code::kData, "bad input");
  FailingRanks::train(communicator);
}

TEST(ThreadFailures, ARankThatEndsByAnExceptionIsNamed) {
  for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
    expect_named(run_shared(kSize, algorithm->name, train_but_fail_on_rank_2), 2);
  }
}

TEST(TcpFailures, ARankThatEndsByAnExceptionIsNamed) {
  for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
    expect_named(run_tcp(kSize, algorithm->name, train_but_fail_on_rank_2), 2);
  }
}

// Rank 3 stays out until all others have given up, for the one reason that the first of them found.
TEST(ThreadFailures, ARankThatIsSilentEndsTheCollectiveOfAllOthers) {
  for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
    auto communicators =
        make_thread_communicators({.size = kSize, .algorithm = algorithm->name, .timeout = 50ms});
    std::atomic<int> num_ended = 0;
    std::promise<void> all_ended;
    const RankErrors errors = run_threads(kSize, [&](int rank) {
      if (rank == 3) return all_ended.get_future().wait();
      const auto error = error_of([&] { FailingRanks::train(*communicators[static_cast<size_t>(rank)]); });
      if (++num_ended == kSize - 1) all_ended.set_value();
      throw *error;
    });
    for (int rank : {0, 1, 2, 4}) {
      const auto& error = errors[static_cast<size_t>(rank)];
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), Code::kUnavailable);
      EXPECT_EQ(error->message(), errors[0]->message());
    }
  }
}

// ---- who is to blame

using Waits = std::map<int, std::vector<int>>;

std::string blamed(const Waits& waits, std::vector<int> awaited) {
  const Blame blame = find_blame(0, awaited, [&](int rank) -> std::optional<std::vector<int>> {
    const auto found = waits.find(rank);
    return found == waits.end() ? std::nullopt : std::optional(found->second);
  });
  return cat(ranks_text(blame.ranks), ": ", blame.what);
}

TEST(Blame, IsOnTheRankAtTheEndOfTheChainThatDoesNotAnswer) {
  EXPECT_EQ(blamed({}, {4}), "rank 4: silent");
  EXPECT_EQ(blamed({{4, {3}}, {3, {2}}}, {4}), "rank 2: silent");
  EXPECT_EQ(blamed({{4, {3, 1}}, {2, {0}}}, {4, 2}), "ranks 1 and 3: silent");
}

TEST(Blame, IsOnARankThatDoesSomethingElse) {
  EXPECT_EQ(blamed({{4, {3}}, {3, {}}}, {4}), "rank 3: not taking part");
}

TEST(Blame, IsOnThoseWhoAreWaitedForWhenAllWaitForEachOther) {
  EXPECT_EQ(blamed({{4, {3}}, {3, {0}}, {2, {0}}, {1, {0}}}, {4, 2, 1}), "ranks 1, 2 and 4: sending nothing");
}

}  // namespace
}  // namespace ps::failures_test
