// All-reduces over slow links and long ways of a simulated network: how many chunks are on their way, how long the whole
// takes, and peers that send something else than is due.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collective/algorithms/entries.h"
#include "collective/net/net_exchange.h"
#include "collective/net/rendezvous.h"
#include "unit/collective/ranks.h"

namespace ps::windows_test {
namespace {

using testing::HasSubstr;

// The exchange of a rank on the simulated network, without a communicator around it.
std::unique_ptr<Exchange> make_exchange(Transport& transport, const NetCommunicatorOptions& options) {
  auto pool = std::make_unique<BufferPool>();
  auto links = meet(transport, *pool, options);
  return std::make_unique<NetExchange>(transport.loop(), std::move(pool), options.rank, std::move(links),
                                       /*patient=*/false, nullptr);
}

// Counts the messages that a rank has sent to each other rank before an answer came: contributions before their sums, or
// messages without a mark before as many have come back.
class CountedExchange final : public Exchange {
 public:
  explicit CountedExchange(std::unique_ptr<Exchange> behind)
      : behind_(std::move(behind)), on_the_way_(static_cast<size_t>(behind_->size())) {}

  int rank() const override { return behind_->rank(); }
  int size() const override { return behind_->size(); }
  Time now() const override { return behind_->now(); }
  int connections() const override { return behind_->connections(); }
  void begin(Collective collective, uint8_t algorithm, Duration timeout) override {
    behind_->begin(collective, algorithm, timeout);
  }
  void finish() override { behind_->finish(); }
  void abandon(const Error& reason) override { behind_->abandon(reason); }
  void flush() override { behind_->flush(); }
  int await(std::span<const int> from) override { return behind_->await(from); }
  MessageMark next_mark(int from) override { return behind_->next_mark(from); }
  bool may_change_threads() const override { return behind_->may_change_threads(); }
  uint64_t bytes_sent(int to) const override { return behind_->bytes_sent(to); }

  void send_marked(int to, ConstBytes bytes, MessageMark mark) override {
    if (mark != MessageMark::kSum) most_ = std::max(most_, ++on_the_way_[static_cast<size_t>(to)]);
    behind_->send_marked(to, bytes, mark);
  }
  Buffer receive_marked(int from, size_t size, MessageMark mark) override {
    if (mark != MessageMark::kContribution) --on_the_way_[static_cast<size_t>(from)];
    return behind_->receive_marked(from, size, mark);
  }
  Buffer receive_any_size(int from) override { return behind_->receive_any_size(from); }

  int most_on_the_way() const { return most_; }

 private:
  const std::unique_ptr<Exchange> behind_;
  std::vector<int> on_the_way_;
  int most_ = 0;
};

// All-reduces of 4 ranks over links of a given bandwidth.
class Links : public testing::TestWithParam<const char*> {
 protected:
  static constexpr int kSize = 4;
  static constexpr size_t kCount = size_t{4} << 20;

  Links() : ranks_(kSize) { ranks_.options.timeout = 600s; }

  void run(double bytes_per_second) {
    ranks_.link = {.bytes_per_second = bytes_per_second, .one_rate = true};
    least_seconds_ =
        all_reduce_algorithm(GetParam()).most_sent(kCount * sizeof(float), kSize) / bytes_per_second;
    const AllReduceAlgorithm& algorithm = all_reduce_algorithm(GetParam());
    for (int rank = 0; rank < kSize; ++rank) {
      ranks_.host(rank).spawn([this, rank, &algorithm] {
        ranks_.errors[static_cast<size_t>(rank)] = error_of([&] { run_rank(rank, algorithm); });
        ranks_.ended_at[rank] = ranks_.network.now();
      });
    }
    ASSERT_TRUE(ranks_.run_until_ended(kSize)) << "ranks hang";
    for (const auto& error : ranks_.errors) EXPECT_FALSE(error) << error->message();
  }

  void run_rank(int rank, const AllReduceAlgorithm& algorithm) {
    NetCommunicatorOptions options = ranks_.options;
    options.rank = rank;
    ShapedTransport shaped(ranks_.host(rank), ranks_.link);
    CountedExchange exchange(make_exchange(shaped, options));
    std::vector<float> data(kCount, static_cast<float>(rank + 1));
    exchange.begin(Collective::kAllReduce, algorithm.number, options.timeout);
    const Time begin = exchange.now();
    algorithm.run(exchange, Elements(data));
    exchange.finish();
    seconds_ = std::max(seconds_, to_seconds(exchange.now() - begin));
    most_ = std::max(most_, exchange.most_on_the_way());
    EXPECT_EQ(std::ranges::count(data, 10.0f), static_cast<ptrdiff_t>(kCount));
  }

  SimRanks ranks_;
  double seconds_ = 0;        // of the slowest rank
  double least_seconds_ = 0;  // of the bytes on a link that is never idle
  int most_ = 0;              // chunks on the way from any rank to any other
};

INSTANTIATE_TEST_SUITE_P(Algorithms, Links, testing::Values("direct"),
                         [](const auto& each) { return std::string(each.param); });

// Each rank has 32 chunks for each other one.
TEST_P(Links, CarryFewChunksAtOnceIfTheseFillThem) {
  run(12.5e6);
  EXPECT_LE(most_, 8);
  EXPECT_GE(seconds_, least_seconds_ * 0.99);
  EXPECT_LE(seconds_, least_seconds_ * 1.03);
}

// The least window of two chunks would take 16 round trips of 100 ms.
TEST_P(Links, CarryManyChunksOverALongWay) {
  ranks_.network.set_default_link({.latency = 50ms, .window_bytes = uint64_t{64} << 20});
  run(125e6);
  EXPECT_GE(most_, 8);
  EXPECT_LE(seconds_, least_seconds_ + 1.0);
}

// The busiest link of 4 ranks carries the data twice or three times.  If a chunk waited at a rank for the whole of a message,
// the passes from rank to rank would follow one another: six of a chain, five of a tree, and four through a server.
class Pipelines : public Links {};

INSTANTIATE_TEST_SUITE_P(Algorithms, Pipelines, testing::Values("chain", "tree", "server"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Pipelines, KeepTheBusiestLinkBusy) {
  run(12.5e6);
  EXPECT_GE(seconds_, least_seconds_ * 0.99);
  EXPECT_LE(seconds_, least_seconds_ * 1.1);
}

// ---- messages that are not due

constexpr size_t kTwoChunks = 2 * kChunkBytes / sizeof(float);  // of each part, between two ranks

// Sends these messages of a chunk each, and then waits for the other rank's error.
struct Script {
  std::vector<MessageMark> marks;
  size_t bytes = kChunkBytes;
};

class Peers : public testing::Test {
 protected:
  // Rank 0 all-reduces, while rank 1 follows the script.  Returns the error of rank 0, whose numbers are in data_.
  std::optional<Error> run_against(const Script& script, const std::string& algorithm = "direct") {
    SimRanks ranks(2);
    ranks.options.algorithm = algorithm;
    ranks.start(0, [this](ExchangeCommunicator& communicator) { communicator.all_reduce(data_); });
    ranks.host(1).spawn([&] {
      error_of([&] { follow(script, ranks); });
      ranks.ended_at[1] = ranks.network.now();
    });
    EXPECT_TRUE(ranks.run_until_ended(2)) << "ranks hang";
    return ranks.errors[0];
  }

  // Chunk c of the contributions is all 10 (c + 1), and chunk c of the sums all 1000 (c + 1).
  void follow(const Script& script, SimRanks& ranks) {
    NetCommunicatorOptions options = ranks.options;
    options.rank = 1;
    const auto exchange = make_exchange(ranks.host(1), options);
    exchange->begin(Collective::kAllReduce, all_reduce_algorithm(options.algorithm).number, 60s);
    std::deque<std::vector<float>> chunks;
    float contributions = 0, sums = 0;
    for (MessageMark mark : script.marks) {
      const float value = mark == MessageMark::kSum ? 1000 * ++sums : 10 * ++contributions;
      chunks.emplace_back(script.bytes / sizeof(float), value);
      exchange->send_marked(1 - options.rank, Elements(chunks.back()).bytes(), mark);
    }
    exchange->flush();
    for (size_t got = 0; got < 4; ++got) exchange->receive_marked(0, kChunkBytes, exchange->next_mark(0));
  }

  std::vector<float> data_ = std::vector<float>(2 * kTwoChunks, 1.0f);
};

constexpr MessageMark kContribution = MessageMark::kContribution, kSum = MessageMark::kSum;

// Nothing but the marks differs between these orders.
TEST_F(Peers, MayInterleaveContributionsAndSumsAsTheyLike) {
  std::vector<MessageMark> marks = {kContribution, kContribution, kSum, kSum};
  do {
    std::ranges::fill(data_, 1.0f);
    const auto error = run_against({marks});
    ASSERT_FALSE(error) << error->message();
    const float expected[] = {11, 21, 1000, 2000};
    for (size_t chunk = 0; chunk < 4; ++chunk) {
      const size_t each = kTwoChunks / 2;
      const std::span<const float> got(data_.data() + chunk * each, each);
      EXPECT_EQ(std::ranges::count(got, expected[chunk]), static_cast<ptrdiff_t>(each)) << chunk;
    }
  } while (std::next_permutation(marks.begin(), marks.end()));
}

TEST_F(Peers, AreRefusedMoreThanIsDue) {
  const auto expect_refused = [&](const Script& script, const std::string& reason,
                                  const std::string& algorithm = "direct") {
    const auto error = run_against(script, algorithm);
    ASSERT_TRUE(error) << reason;
    EXPECT_THAT(error->message(), HasSubstr(reason));
  };
  expect_refused(
      {{kContribution, kContribution, kContribution}},
      "rank 1 sent a message with the mark of a contribution in all-reduce 1, expected the mark of a sum");
  expect_refused({{kSum, kSum, kSum}},
                 "the mark of a sum in all-reduce 1, expected the mark of a contribution");
  expect_refused({{MessageMark::kNone}}, "no mark in all-reduce 1, expected the mark of a contribution");
  expect_refused({{MessageMark{7}}}, "an unknown mark in all-reduce 1, expected the mark of a contribution");
  expect_refused({{kContribution}, 4}, "rank 1 sent 4 bytes for all-reduce 1, expected 131072");
  expect_refused({{kSum}, 4}, "rank 1 sent 4 bytes for all-reduce 1, expected 131072");
  expect_refused({{kSum}}, "the mark of a sum in all-reduce 1, expected no mark", "chain");
}

}  // namespace
}  // namespace ps::windows_test
