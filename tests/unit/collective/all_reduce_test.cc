#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <future>
#include <mutex>

#include "base/hash.h"
#include "collective/algorithm.h"
#include "collective/fused.h"
#include "support/environment.h"
#include "unit/collective/ranks.h"

namespace ps::all_reduce_test {
namespace {

using Run = RankErrors (*)(int size, const std::string& algorithm, const RankBody& body);

struct Ground {
  const char* name;
  Run run;
};

// Every way to exchange messages gives the same bits.
class OnEveryGround : public testing::TestWithParam<Ground> {
 protected:
  void run(int size, const RankBody& body) { run(size, "direct", body); }
  void run(int size, const std::string& algorithm, const RankBody& body) {
    const RankErrors errors = GetParam().run(size, algorithm, body);
    for (size_t rank = 0; rank < errors.size(); ++rank) {
      ASSERT_FALSE(errors[rank]) << "rank " << rank << " of " << size << ": " << errors[rank]->message();
    }
  }
};

RankErrors run_over_2_connections(int size, const std::string& algorithm, const RankBody& body) {
  return run_tcp_over({}, size, algorithm, body, 2);
}

// Connections are ahead of each other by more than the time of a chunk.
RankErrors run_over_4_uneven_connections(int size, const std::string& algorithm, const RankBody& body) {
  return run_simulated_over({.latency = 1ms, .jitter = 5ms, .split = true}, size, algorithm, body, 4);
}

INSTANTIATE_TEST_SUITE_P(Grounds, OnEveryGround,
                         testing::Values(Ground{"threads", run_shared}, Ground{"tcp", run_tcp},
                                         Ground{"simulated", run_simulated},
                                         Ground{"over_2_connections", run_over_2_connections},
                                         Ground{"over_4_uneven", run_over_4_uneven_connections}),
                         [](const auto& each) { return std::string(each.param.name); });

uint64_t bits_of(const std::vector<float>& values) {
  return hash_bytes({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

// Empty, one, odd, one that no number of ranks divides; around the limits of one round and of a chunk.
constexpr size_t kSizes[] = {0, 1, 3, 1000, 4099, 32768, 32769, 70001};
constexpr uint64_t kSeed = 11;

// All up to 9; where fewer cases are wanted, one, an odd number, and a power of two.
std::vector<int> numbers_of_ranks() {
  if (try_every() > 1) return {1, 5, 8};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9};
}

// Sums of the reference algorithm that runs on one thread.
TEST_P(OnEveryGround, AlgorithmsInRankOrderHaveTheBitsOfSumsInRankOrder) {
  for (int size : numbers_of_ranks()) {
    std::vector<std::vector<float>> expected;
    for (size_t count : kSizes) expected.push_back(sum_in_rank_order(kSeed, size, count));
    run(size, [&](ExchangeCommunicator& communicator) {
      for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
        if (!algorithm->in_rank_order) continue;
        for (size_t i = 0; i < std::size(kSizes); ++i) {
          std::vector<float> data = rank_floats(kSeed, communicator.rank(), kSizes[i]);
          communicator.all_reduce_by(*algorithm, data);
          EXPECT_EQ(bits_of(data), bits_of(expected[i]))
              << algorithm->name << ", " << size << " ranks, " << kSizes[i];
        }
      }
    });
  }
}

TEST_P(OnEveryGround, AllAlgorithmsSumIntegersExactly) {
  for (int size : numbers_of_ranks()) {
    run(size, [&](ExchangeCommunicator& communicator) {
      for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
        for (size_t count : kSizes) {
          std::vector<float> floats(count);
          std::vector<double> doubles(count);
          std::vector<int64_t> integers(count);
          for (size_t i = 0; i < count; ++i) {
            const int64_t value = static_cast<int64_t>(i % 1000) * (communicator.rank() + 1);
            floats[i] = static_cast<float>(value);
            doubles[i] = static_cast<double>(value) + 0.5;
            integers[i] = value + (int64_t{1} << 60) - 1;
          }
          communicator.all_reduce_by(*algorithm, floats);
          communicator.all_reduce_by(*algorithm, doubles);
          communicator.all_reduce_by(*algorithm, integers);
          size_t wrong = 0;
          for (size_t i = 0; i < count; ++i) {
            const uint64_t sum = i % 1000 * static_cast<uint64_t>(size * (size + 1) / 2);
            const uint64_t wrapped = sum + static_cast<uint64_t>(size) * ((uint64_t{1} << 60) - 1);
            wrong += floats[i] != static_cast<float>(sum);
            wrong += doubles[i] != static_cast<double>(sum) + 0.5 * size;
            wrong += static_cast<uint64_t>(integers[i]) != wrapped;
          }
          EXPECT_EQ(wrong, 0u) << algorithm->name << ", " << size << " ranks, " << count;
        }
      }
    });
  }
}

// Parts have more chunks than a rank sends ahead of their sums.
TEST(Connections, UnevenOnesGiveTheSumsOfManyChunksInRankOrder) {
  constexpr int kRanks = 3;
  constexpr size_t kCount = 1'500'001;
  const uint64_t expected = bits_of(sum_in_rank_order(kSeed, kRanks, kCount));
  const RankErrors errors =
      run_over_4_uneven_connections(kRanks, "direct", [&](ExchangeCommunicator& communicator) {
        std::vector<float> data = rank_floats(kSeed, communicator.rank(), kCount);
        communicator.all_reduce(data);
        EXPECT_EQ(bits_of(data), expected) << "rank " << communicator.rank();
      });
  for (const auto& error : errors) EXPECT_FALSE(error) << error->message();
}

// Messages have many chunks, and there are several calls, one after the other.
TEST(Connections, AnyNumberOfThemGivesTheBitsOfOne) {
  constexpr int kRanks = 3;
  constexpr size_t kCount = 700001;
  for (const AllReduceAlgorithm* algorithm : all_reduce_catalog()) {
    std::vector<uint64_t> bits[3];
    for (int i : {0, 1, 2}) {
      const RankBody body = [&](ExchangeCommunicator& communicator) {
        for (int call = 0; call < 3; ++call) {
          std::vector<float> data = rank_floats(static_cast<uint64_t>(call), communicator.rank(), kCount);
          communicator.all_reduce(data);
          communicator.barrier();
          if (communicator.rank() == 1) bits[i].push_back(bits_of(data));
        }
      };
      for (const auto& error : run_tcp_over({}, kRanks, algorithm->name, body, 1 << i))
        EXPECT_FALSE(error) << error->message();
    }
    if (algorithm->in_rank_order) {
      EXPECT_EQ(bits[0][2], bits_of(sum_in_rank_order(2, kRanks, kCount))) << algorithm->name;
    }
    EXPECT_EQ(bits[1], bits[0]) << algorithm->name;
    EXPECT_EQ(bits[2], bits[0]) << algorithm->name;
  }
}

// On a long way a connection carries its window for each round trip, and several carry as much each.
TEST(Connections, FillALinkThatOneDoesNotFill) {
  std::map<int, double> seconds;
  for (int connections : {1, 2, 4}) {
    const RankBody body = [&](ExchangeCommunicator& communicator) {
      std::vector<float> data(size_t{8} << 20);
      communicator.all_reduce(data);
    };
    SimRanks ranks(2);
    ranks.network.set_default_link({.latency = 20ms});
    ranks.options.connections = connections;
    ranks.options.algorithm = "direct";
    ranks.start_all(body);
    ASSERT_TRUE(ranks.run_until_ended(2));
    seconds[connections] = to_seconds(ranks.ended_at[0] - Time{});
  }
  EXPECT_GT(seconds[1], 1.8 * seconds[2]);
  EXPECT_GT(seconds[2], 1.8 * seconds[4]);
}

// Ranks of a simulated network whose connections have this latency, and whose hosts send at this rate.
void expect_connections(Duration latency, double bytes_per_second, int size, int expected) {
  SCOPED_TRACE(cat(to_seconds(latency), " s, ", bytes_per_second, " B/s, ", size, " ranks"));
  std::vector<int> used(static_cast<size_t>(size));
  SimRanks ranks(size);
  ranks.network.set_default_link({.latency = latency});
  ranks.link.bytes_per_second = bytes_per_second;
  ranks.options.connections = kMeasuredConnections;
  ranks.start_all([&](ExchangeCommunicator& communicator) {
    used[static_cast<size_t>(communicator.rank())] = communicator.connections();
    EXPECT_LT(communicator.bytes_sent((communicator.rank() + 1) % size), 10'000u)
        << "those of measuring count";
    std::vector<float> data = rank_floats(kSeed, communicator.rank(), 100'000);
    communicator.all_reduce(data);
    EXPECT_EQ(bits_of(data), bits_of(sum_in_rank_order(kSeed, size, 100'000)));
  });
  ASSERT_TRUE(ranks.run_until_ended(static_cast<size_t>(size)));
  for (const auto& error : ranks.errors) EXPECT_FALSE(error) << error->message();
  EXPECT_THAT(used, testing::Each(expected));
}

// A long way is filled by several; a link that is slow, or that one fills, and one of many ranks, is not given more.
TEST(Connections, AreAsManyAsPay) {
  expect_connections(20ms, 0, 2, 4);
  expect_connections(20ms, 0, 3, 4);
  expect_connections(10us, 1e9, 2, 1);
  expect_connections(10us, 1e6, 3, 1);
  expect_connections(20ms, 0, 17, 1);
}

struct Golden {
  const char* algorithm;
  int size;
  uint64_t bits;
};

// Checksums of the sum of 4099 floats of seed 11.  The order of summation of each algorithm must never
// change.
constexpr Golden kGolden[] = {
    {"direct", 5, 0xde7a324b9b393b59},
    {"chain", 5, 0xde7a324b9b393b59},
    {"server", 5, 0xde7a324b9b393b59},
    {"ring", 2, 0xf1e01cf144ce665},
    {"ring", 5, 0xe1fe95f0d22fd6ae},
    {"ring", 8, 0xc24dcbb5909f3767},
    {"halving_doubling", 2, 0xf1e01cf144ce665},
    {"halving_doubling", 5, 0x4743530d80056064},
    {"halving_doubling", 8, 0xdaf635de4767a870},
    {"tree", 2, 0xf1e01cf144ce665},
    {"tree", 5, 0xef71d36f7c8297e0},
    {"tree", 8, 0x310f4a738e7401c9},
};

TEST_P(OnEveryGround, EachAlgorithmHasItsOwnBitsOnAllRanksAndRuns) {
  for (const Golden& golden : kGolden) {
    run(golden.size, golden.algorithm, [&](ExchangeCommunicator& communicator) {
      std::vector<float> data = rank_floats(kSeed, communicator.rank(), 4099);
      communicator.all_reduce(data);
      EXPECT_EQ(bits_of(data), golden.bits)
          << golden.algorithm << ", " << golden.size << " ranks: 0x" << std::hex << bits_of(data);
    });
  }
}

TEST_P(OnEveryGround, FusedArraysHaveTheBitsOfSingleOnes) {
  constexpr size_t kCounts[] = {3, 0, 500, 250000, 1, 7, 20000, 20000};
  run(4, [&](ExchangeCommunicator& communicator) {
    std::vector<std::vector<float>> arrays;
    for (uint64_t i = 0; i < std::size(kCounts); ++i) {
      arrays.push_back(rank_floats(i, communicator.rank(), kCounts[i]));
    }
    std::vector<double> doubles = {1.5, 2.0 * communicator.rank()};
    std::vector<Elements> views(arrays.begin(), arrays.end());
    views.insert(views.begin() + 2, doubles);
    all_reduce_fused(communicator, views);
    for (uint64_t i = 0; i < std::size(kCounts); ++i) {
      EXPECT_EQ(bits_of(arrays[i]), bits_of(sum_in_rank_order(i, 4, kCounts[i]))) << i;
    }
    EXPECT_THAT(doubles, testing::ElementsAre(6, 12));
  });
}

TEST_P(OnEveryGround, FusingSendsFewerMessages) {
  run(2, [&](ExchangeCommunicator& communicator) {
    std::vector<std::vector<float>> arrays(100, std::vector<float>(4));
    const std::vector<Elements> views(arrays.begin(), arrays.end());
    all_reduce_fused(communicator, views);
    const uint64_t sent = communicator.bytes_sent(1 - communicator.rank());
    EXPECT_LE(sent, 100 * 4 * sizeof(float) + 1000);
  });
}

// Whatever the choice is, it is that of all ranks, and its sums run in rank order.
TEST_P(OnEveryGround, TheAutomaticChoiceIsTheSameOnAllRanks) {
  std::mutex mutex;
  std::map<size_t, std::set<std::string>> chosen;
  run(3, kAutomatic, [&](ExchangeCommunicator& communicator) {
    for (size_t bytes = 64; bytes <= size_t{64} << 20; bytes *= 2) {
      const AllReduceAlgorithm& algorithm = communicator.choose(bytes);
      EXPECT_TRUE(algorithm.in_rank_order);
      std::lock_guard lock(mutex);
      chosen[bytes].insert(algorithm.name);
    }
    std::vector<float> data = rank_floats(kSeed, communicator.rank(), 5000);
    communicator.all_reduce(data);
    EXPECT_EQ(bits_of(data), bits_of(sum_in_rank_order(kSeed, 3, 5000)));
  });
  for (const auto& [bytes, names] : chosen) EXPECT_EQ(names.size(), 1u) << bytes;
}

// Seeded, so that what fails fails again.
TEST_P(OnEveryGround, RandomSizesAndRanksSumInRankOrder) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed, 99);
    const int size = 1 + static_cast<int>(random.below(9));
    std::vector<size_t> counts;
    for (int i = 0; i < 5; ++i) counts.push_back(random.below(uint64_t{1} << (1 + random.below(17))));
    run(size, [&](ExchangeCommunicator& communicator) {
      for (size_t count : counts) {
        const std::array<const char*, 3> names = {"direct", "chain", "server"};
        const AllReduceAlgorithm& algorithm = all_reduce_algorithm(names[count % names.size()]);
        std::vector<float> data = rank_floats(seed, communicator.rank(), count);
        communicator.all_reduce_by(algorithm, data);
        EXPECT_EQ(bits_of(data), bits_of(sum_in_rank_order(seed, size, count)))
            << "seed " << seed << ", " << algorithm.name << ", " << size << " ranks, " << count;
      }
    });
  }
}

}  // namespace
}  // namespace ps::all_reduce_test
