// Collectives beside all-reduce, the bytes that each sends, and the parts that they are made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>
#include <semaphore>

#include "collective/algorithm.h"
#include "collective/choice.h"
#include "unit/collective/ranks.h"

namespace ps::others_test {
namespace {

void expect_no_errors(const RankErrors& errors) {
  for (const auto& error : errors) EXPECT_FALSE(error) << error->message();
}

void run_everywhere(int size, const RankBody& body) {
  expect_no_errors(run_shared(size, "direct", body));
  expect_no_errors(run_tcp(size, "direct", body));
  expect_no_errors(run_simulated(size, "direct", body));
}

// The first parts are large, some are empty.
std::vector<size_t> unequal_counts(int size) {
  std::vector<size_t> counts;
  for (int rank = 0; rank < size; ++rank) counts.push_back(rank % 3 == 1 ? 0 : size_t{40000} / (rank + 1));
  return counts;
}

size_t total(const std::vector<size_t>& counts) {
  size_t sum = 0;
  for (size_t count : counts) sum += count;
  return sum;
}

TEST(ReduceScatter, LeavesTheSumOfTheOwnPartAndTheOthersAsTheyWere) {
  for (int size : {1, 2, 5, 9}) {
    const std::vector<size_t> counts = unequal_counts(size);
    const std::vector<float> sum = sum_in_rank_order(3, size, total(counts));
    run_everywhere(size, [&](ExchangeCommunicator& communicator) {
      std::vector<float> data = rank_floats(3, communicator.rank(), sum.size());
      std::vector<float> expected = data;
      const ElementRange own = parts_of_counts(counts)[static_cast<size_t>(communicator.rank())];
      std::copy(sum.begin() + own.begin, sum.begin() + own.end, expected.begin() + own.begin);
      communicator.reduce_scatter(data, counts);
      EXPECT_EQ(data, expected) << size;
    });
  }
}

TEST(AllGather, PutsTheUnequalPartsOfAllRanksTogether) {
  for (int size : {1, 2, 5, 9}) {
    const std::vector<size_t> counts = unequal_counts(size);
    std::vector<int64_t> expected(total(counts));
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int64_t>(i * i);
    run_everywhere(size, [&](ExchangeCommunicator& communicator) {
      const ElementRange own = parts_of_counts(counts)[static_cast<size_t>(communicator.rank())];
      std::vector<int64_t> data(expected.size(), -1);
      std::copy(expected.begin() + own.begin, expected.begin() + own.end, data.begin() + own.begin);
      communicator.all_gather(data, counts);
      EXPECT_EQ(data, expected) << size;
    });
  }
}

TEST(AllGather, AfterReduceScatterIsAllReduce) {
  const std::vector<float> sum = sum_in_rank_order(4, 6, 50001);
  run_everywhere(6, [&](ExchangeCommunicator& communicator) {
    std::vector<float> data = rank_floats(4, communicator.rank(), sum.size());
    communicator.reduce_scatter(data);
    communicator.all_gather(data);
    EXPECT_EQ(data, sum);
  });
}

TEST(Broadcast, GivesAllRanksWhatTheRootHas) {
  for (int size : {1, 2, 3, 7, 8}) {
    run_everywhere(size, [&](ExchangeCommunicator& communicator) {
      for (int root = 0; root < size; ++root) {
        for (size_t count : {size_t{0}, size_t{1}, size_t{40000}}) {
          std::vector<float> data = rank_floats(5, communicator.rank(), count);
          communicator.broadcast(data, root);
          EXPECT_EQ(data, rank_floats(5, root, count)) << size << " ranks from " << root;
        }
      }
    });
  }
}

TEST(Gather, GivesTheTextsOfAllRanksInRankOrder) {
  for (int size : {1, 2, 5}) {
    std::vector<std::string> expected;
    for (int rank = 0; rank < size; ++rank) {
      expected.emplace_back(rank * 300000, static_cast<char>('a' + rank));
    }
    run_everywhere(size, [&](ExchangeCommunicator& communicator) {
      EXPECT_EQ(communicator.gather(expected[static_cast<size_t>(communicator.rank())]), expected);
    });
  }
}

// Rank a gives rank b a text of its own length, so that none can be taken for another.
TEST(AllToAll, GivesEachRankWhatTheOthersHaveForIt) {
  auto text = [](int from, int to) {
    return std::string(static_cast<size_t>(from * 200000 + to * 7), static_cast<char>('a' + from));
  };
  for (int size : {1, 2, 5}) {
    run_everywhere(size, [&](ExchangeCommunicator& communicator) {
      std::vector<std::string> given, expected;
      for (int other = 0; other < size; ++other) {
        given.push_back(text(communicator.rank(), other));
        expected.push_back(text(other, communicator.rank()));
      }
      EXPECT_EQ(communicator.all_to_all(given), expected);
    });
  }
}

TEST(Barrier, EndsWhenTheLastRankHasCome) {
  for (int size : {1, 2, 3, 7}) {
    std::atomic<int> came = 0;
    run_everywhere(size, [&](ExchangeCommunicator& communicator) {
      came += communicator.rank() + 1;
      communicator.barrier();
      EXPECT_EQ(came % (size * (size + 1) / 2), 0);
      communicator.barrier();
    });
  }
}

// A rank may compute for long then, and its loop does not run; or it ends, and says goodbye for a second at most.
TEST(Gather, EndsWhenNothingOfItIsHeldBeforeASlowLink) {
  SimRanks ranks(2);
  ranks.link = {.bytes_per_second = 20e3, .burst_bytes = 0};
  std::vector<std::string> heard;
  ranks.start_all([&](ExchangeCommunicator& communicator) {
    const bool much = communicator.rank() == 0;
    const std::vector<std::string> all = communicator.gather(std::string(much ? 50000 : 1, 'x'));
    if (!much) return void(heard = all);
    EXPECT_GE(to_seconds(ranks.network.now()), 2.5) << "50 KB at 20 KB/s";
  });
  ASSERT_TRUE(ranks.run_until_ended(2));
  expect_no_errors(ranks.errors);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].size(), 50000u);
}

TEST(Broadcast, ARootThatHasEndedStaysUntilASlowLinkHasCarriedItsBytes) {
  SimRanks ranks(2);
  ranks.network.set_default_link({.bytes_per_second = 50e3, .window_bytes = 1 << 20});
  ranks.start_all([](ExchangeCommunicator& communicator) {
    std::vector<float> data(2500);
    for (int i = 0; i < 20; ++i) communicator.broadcast(data, 0);
  });
  ASSERT_TRUE(ranks.run_until_ended(2));
  expect_no_errors(ranks.errors);
  EXPECT_GE(to_seconds(ranks.ended_at[0]), 4.0) << "200 KB at 50 KB/s";
  EXPECT_LE(to_seconds(ranks.ended_at[0]), 6.0);
}

// A rank that has left waits for the other to leave, as it would for a device, and its loop does not run.
TEST(Barrier, IsLeftByAllRanksThoughNoneThatHasLeftRunsItsLoop) {
  constexpr int kBarriers = 100;
  for (const LinkShape& link : {LinkShape(), LinkShape{.bytes_per_second = 1e8}}) {
    std::counting_semaphore<kBarriers> left[2] = {std::counting_semaphore<kBarriers>(0),
                                                  std::counting_semaphore<kBarriers>(0)};
    const RankBody body = [&](ExchangeCommunicator& communicator) {
      const int rank = communicator.rank();
      for (int i = 0; i < kBarriers; ++i) {
        communicator.barrier();
        left[rank].release();
        if (!left[1 - rank].try_acquire_for(20s))
          fail(Code::kInternal, "the other rank waits in barrier ", i);
      }
    };
    expect_no_errors(run_tcp_over(link, 2, "direct", body));
  }
}

// A root that is far ahead of whoever computes is held up, not kept in memory without end.
TEST(Broadcast, ARootThatIsFarAheadIsHeldUp) {
  constexpr int kRounds = 40;
  SimRanks ranks(2);
  std::atomic<int> sent = 0;
  ranks.start(0, [&](ExchangeCommunicator& communicator) {
    std::vector<float> data(size_t{1} << 20);
    for (int i = 0; i < kRounds; ++i) communicator.broadcast(data, 0), sent = i + 1;
    communicator.barrier();
  });
  ranks.start(1, [&](ExchangeCommunicator& communicator) {
    std::vector<float> data(size_t{1} << 20);
    communicator.broadcast(data, 0);
    ranks.host(1).loop().run_until([] { return false; }, ranks.network.now() + 20s);
    EXPECT_LT(sent, kRounds);
    for (int i = 1; i < kRounds; ++i) communicator.broadcast(data, 0);
    communicator.barrier();
  });
  ASSERT_TRUE(ranks.run_until_ended(2));
  expect_no_errors(ranks.errors);
}

// Returns the bytes that the busiest rank sends in one all-reduce, headers too.
double most_sent(int size, const char* algorithm, size_t count) {
  std::mutex mutex;
  double most = 0;
  expect_no_errors(run_tcp(size, algorithm, [&](ExchangeCommunicator& communicator) {
    auto sent = [&] {
      uint64_t sum = 0;
      for (int to = 0; to < size; ++to) sum += communicator.bytes_sent(to);
      return sum;
    };
    const uint64_t before = sent();
    std::vector<float> data(count);
    communicator.all_reduce(data);
    std::lock_guard lock(mutex);
    most = std::max(most, static_cast<double>(sent() - before));
  }));
  return most;
}

// Twice as many bytes as the formula would be a mistake, and 1 % are headers.
TEST(Bytes, ThroughTheBusiestRankAreThoseOfTheFormulas) {
  constexpr size_t kCount = 8 * 3 * 5 * 2000;
  for (int size : {2, 3, 4, 5, 8}) {
    for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
      const double expected = algorithm->most_sent(kCount * sizeof(float), size);
      EXPECT_NEAR(most_sent(size, algorithm->name, kCount) / expected, 1, 0.01)
          << algorithm->name << ", " << size << " ranks";
    }
  }
}

// A rank that is the server of the others sends them each all of the data.
TEST(Choice, LeavesOutWhatSendsManyTimesTheData) {
  auto is_measured = [](const char* name, int size) {
    return is_candidate(all_reduce_algorithm(name), size);
  };
  for (int size : {2, 17}) {
    for (const char* name : {"direct", "chain", "server"}) EXPECT_TRUE(is_measured(name, size)) << name;
  }
  EXPECT_TRUE(is_measured("direct", 18) && is_measured("chain", 18));
  EXPECT_FALSE(is_measured("server", 18));
  for (const char* name : {"ring", "halving_doubling", "tree"}) EXPECT_FALSE(is_measured(name, 2)) << name;
}

// One round sends all bytes to every other rank, and two send 2 (p - 1) / p of them.
TEST(Bytes, DirectTakesOneRoundUpToALimitThatFallsWithTheRanks) {
  for (int size : {2, 3, 4, 5}) {
    const size_t others = static_cast<size_t>(size) - 1;
    for (const size_t bytes :
         {size_t{9600}, size_t{38400}, kOneRoundBytes / others / 120 * 120, size_t{240000}}) {
      const bool one_round = bytes * others <= kOneRoundBytes;
      const double expected = static_cast<double>(others * bytes) * (one_round ? 1 : 2.0 / size);
      EXPECT_DOUBLE_EQ(all_reduce_algorithm("direct").most_sent(static_cast<double>(bytes), size), expected);
      EXPECT_NEAR(most_sent(size, "direct", bytes / sizeof(float)) / expected, 1, 0.01)
          << bytes << " bytes, " << size << " ranks";
    }
  }
}

TEST(Bytes, DirectAndRingSendTheLeastThatIsPossible) {
  for (const char* name : {"direct", "ring"}) {
    EXPECT_DOUBLE_EQ(all_reduce_algorithm(name).most_sent(1e9, 4), 1.5e9);
  }
  EXPECT_DOUBLE_EQ(all_reduce_algorithm("tree").most_sent(1e9, 8), 3e9);
}

TEST(Parts, AreAsEvenAsCanBeAndCoverEverything) {
  for (size_t count : {0, 1, 7, 1000}) {
    for (int size = 1; size <= 9; ++size) {
      size_t end = 0;
      for (const ElementRange& part : even_parts(count, size)) {
        EXPECT_EQ(part.begin, end);
        EXPECT_THAT(part.count(), testing::AnyOf(count / size, count / size + 1));
        end = part.end;
      }
      EXPECT_EQ(end, count);
    }
  }
}

TEST(Choice, IsTheCheapestOfTheSlowestRanksCosts) {
  const AllReduceAlgorithm &direct = all_reduce_algorithm("direct"), &chain = all_reduce_algorithm("chain");
  const std::vector<AllReduceCost> own = {{&direct, {{1e-5, 5e-5, 3e-3}}}, {&chain, {{2e-5, 6e-5, 2e-3}}}};
  const std::vector<AllReduceCost> other = {{&direct, {{1e-5, 8e-5, 2e-3}}}, {&chain, {{1e-5, 5e-5, 2e-3}}}};
  const auto costs = slowest_costs(own, {encode_costs(own), encode_costs(other)});
  EXPECT_EQ(costs, slowest_costs(other, {encode_costs(own), encode_costs(other)}));
  EXPECT_STREQ(cheapest(costs, 1000).name, "direct");
  EXPECT_STREQ(cheapest(costs, 100000).name, "chain");
  EXPECT_THROW(slowest_costs(own, {"short"}), Error);
  EXPECT_EQ(costs[0].seconds[1], 8e-5) << "the slowest rank's";
}

TEST(Choice, CostsAreStraightLinesBetweenTheMeasuredSizes) {
  const AllReduceCost cost{&all_reduce_algorithm("direct"), {{1e-5, 4e-5, 4e-5 + 1e-3}}};
  const size_t first = kCostMeasures[0].bytes, second = kCostMeasures[1].bytes,
               third = kCostMeasures[2].bytes;
  EXPECT_DOUBLE_EQ(cost.at(4), 1e-5) << "constant below the first";
  EXPECT_DOUBLE_EQ(cost.at(first), 1e-5);
  EXPECT_DOUBLE_EQ(cost.at((first + second) / 2), 2.5e-5);
  EXPECT_DOUBLE_EQ(cost.at(second), 4e-5);
  EXPECT_DOUBLE_EQ(cost.at(third), 4e-5 + 1e-3);
  EXPECT_DOUBLE_EQ(cost.at(2 * third - second), 4e-5 + 2e-3) << "as between the last two";
  const AllReduceCost odd{&all_reduce_algorithm("direct"), {{5e-5, 4e-5, 3e-5}}};
  EXPECT_DOUBLE_EQ(odd.at((first + second) / 2), 5e-5) << "more bytes never take less time";
  EXPECT_DOUBLE_EQ(odd.at(third), 4e-5);
}

TEST(Choice, BlocksAreWholePairsOfCalls) {
  for (const CostMeasure& measure : kCostMeasures) {
    EXPECT_EQ(measure.calls % 2, 0) << measure.bytes;
    EXPECT_EQ(measure.blocks % 2, 1) << "a median is one of them";
  }
}

TEST(Choice, AnUnknownAlgorithmIsNamedWithTheNearest) {
  const auto error = error_of([] { all_reduce_algorithm("rin"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kUsage);
  EXPECT_EQ(error->message(), "unknown all-reduce algorithm 'rin' (did you mean 'ring'?)");
}

}  // namespace
}  // namespace ps::others_test
