// Answers to pulls to read, which connections take, or do not take.
#include "ps/server/read_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "optim/optimizer_plan.h"
#include "optim/synthetic_parameter.h"

namespace ps::read_answers_test {
namespace {

constexpr int64_t kRows = 5000;
constexpr int64_t kLong = 40000;  // width of rows that are longer than an account

// A connection: it keeps the memory of what it was sent until it takes it.
struct Taker {
  std::vector<std::shared_ptr<const Payload>> sent;
  std::string taken;
  size_t pieces = 0, answers = 0;
  bool wanted = true;

  void take() {
    for (const auto& payload : sent) taken.append(payload->head.data(), payload->head.size());
    sent.clear();
  }
};

class TakerReply final : public Reply {
 public:
  explicit TakerReply(Taker& taker) : taker_(taker) {}
  void answer(std::shared_ptr<const Payload> payload) override {
    taker_.sent.push_back(std::move(payload));
    ++taker_.answers;
  }
  void answer_piece(std::shared_ptr<const Payload> payload) override {
    taker_.sent.push_back(std::move(payload));
    ++taker_.pieces;
  }
  void fail(const Error& error) override { throw Error(error); }
  bool wanted() const override { return taker_.wanted; }

 private:
  Taker& taker_;
};

class ReadAnswersTest : public testing::Test {
 protected:
  ReadAnswers make(uint64_t max_bytes) {
    return ReadAnswers(*tables_, held_, counters_, max_bytes, [this] { ++rooms_; });
  }
  void make_tables(int64_t dense_width = 13, int64_t dense_rows = kRows) {
    specs_ = {synthetic_parameter("table", ParameterKind::kRows, true, 0, 13),
              synthetic_parameter("matrix", ParameterKind::kMatrix, false, dense_rows, dense_width)};
    tables_ =
        std::make_unique<ShardTables>(specs_, make_optimizer_plan({{"type", "sgd"}}, "sum"), ShardPlace());
  }

  static RowSlice range(uint64_t first, uint64_t count) {
    RowSlice slice;
    slice.parameter = 1, slice.by_keys = false, slice.first = first, slice.count = count;
    return slice;
  }
  static RowSlice keys(uint64_t first, uint64_t count, bool exact = false) {
    RowSlice slice;
    slice.keys.resize(count);
    std::iota(slice.keys.begin(), slice.keys.end(), first);
    slice.exact = exact;
    return slice;
  }
  static PullRequest pull(std::vector<RowSlice> slices, RowType type = RowType::kF32) {
    PullRequest request;
    request.mode = PullMode::kRead, request.type = type;
    request.row_slices = std::move(slices);
    return request;
  }
  std::string whole(const PullRequest& request) {
    Buffer out = pool_.take(tables_->bytes_of(request.row_slices, request.type));
    tables_->read(request.row_slices, PullMode::kRead, request.type, out.data());
    return {out.data(), out.size()};
  }
  void read(ReadAnswers& answers, HeldPeer peer, PullRequest request, Taker& taker) {
    ReplyPtr reply = std::make_unique<TakerReply>(taker);
    answers.read(kFirstReader + peer, std::move(request), reply);
  }
  // Goes on as long as the loop is told to; returns how many turns of it that takes.
  int go_on(ReadAnswers& answers) {
    int turns = 0;
    for (; rooms_ > 0; ++turns) rooms_ = 0, answers.go_on();
    return turns;
  }

  std::vector<ParameterSpec> specs_;
  ShardCounters counters_;
  TableMemory memory_{std::make_shared<MemoryBudget>(), {}};
  HeldMemory held_{1 << 20, memory_, counters_};
  std::unique_ptr<ShardTables> tables_;
  BufferPool pool_;
  int rooms_ = 0;
};

TEST_F(ReadAnswersTest, WhereThereIsRoomAnAnswerIsWhole) {
  make_tables();
  ReadAnswers answers = make(1 << 20);
  Taker taker;
  const PullRequest request = pull({range(0, kRows), keys(5, 1000)});
  read(answers, 1, request, taker);
  EXPECT_EQ(taker.pieces, 0u);
  EXPECT_EQ(taker.answers, 1u);
  taker.take();
  EXPECT_TRUE(taker.taken == whole(request));
  EXPECT_EQ(answers.bytes_in_use(), 0u);
}

TEST_F(ReadAnswersTest, ALongAnswerIsMadeInTurnsAndSentWhole) {
  make_tables(/*dense_width=*/1000, /*dense_rows=*/1000);
  ReadAnswers answers = make(64 << 20);
  Taker taker, other;
  const PullRequest request = pull({range(0, 1000), keys(0, 777), range(3, 5)});
  read(answers, 1, request, taker);
  EXPECT_EQ(taker.answers, 0u);
  answers.go_on();
  read(answers, 2, pull({keys(1, 10)}), other);
  for (int turns = 0; other.answers == 0; ++turns) {
    ASSERT_LT(turns, 3) << "others wait for one turn of it";
    answers.go_on();
  }
  EXPECT_EQ(taker.answers, 0u);
  EXPECT_GT(go_on(answers), 50);
  EXPECT_EQ(taker.answers, 1u);
  EXPECT_EQ(taker.pieces, 0u);
  taker.take();
  EXPECT_TRUE(taker.taken == whole(request));
  other.take();
  EXPECT_EQ(answers.bytes_in_use(), 0u);
  read(answers, 1, request, taker);
  answers.go_on();
  EXPECT_GT(answers.bytes_in_use(), 0u);
  taker.wanted = false;
  answers.forget_unwanted();
  EXPECT_EQ(answers.bytes_in_use(), 0u);
}

TEST_F(ReadAnswersTest, ThePiecesOfAnAnswerTogetherAreTheWholeOne) {
  make_tables();
  for (const RowType type :
       {RowType::kF32, RowType::kF16, RowType::kBf16, RowType::kInt8, RowType::kInt8Blocks}) {
    ReadAnswers answers = make(64);
    Taker taker;
    const PullRequest request = pull({range(0, kRows), keys(5, 0), keys(5, 1000), keys(1, 1), range(7, 3),
                                      keys(0, 777, true), range(9, 0)},
                                     type);
    read(answers, 1, request, taker);
    while (taker.answers == 0) {
      go_on(answers);
      ASSERT_FALSE(taker.sent.empty());
      taker.take();
    }
    taker.take();
    EXPECT_GT(taker.pieces, 50u);
    EXPECT_TRUE(taker.taken == whole(request)) << static_cast<int>(type);
    EXPECT_EQ(answers.num_waiting(), 0u);
    EXPECT_EQ(answers.bytes_in_use(), 0u);
    EXPECT_EQ(held_.bytes_in_use(), 0u);
  }
  EXPECT_EQ(counters_.pulls, 5u);
}

TEST_F(ReadAnswersTest, WhoTakesNothingHoldsLittleAndKeepsNobodyWaiting) {
  make_tables();
  constexpr uint64_t kMost = 256 << 10, kIdle = 100;
  ReadAnswers answers = make(kMost);
  std::vector<Taker> idle(kIdle);
  for (uint64_t peer = 0; peer < kIdle; ++peer) {
    for (int i = 0; i < 3; ++i) read(answers, peer, pull({range(0, kRows)}), idle[peer]);
  }
  go_on(answers);
  EXPECT_EQ(answers.num_waiting(), 3 * kIdle);
  EXPECT_LE(answers.bytes_in_use(), kMost + kIdle * (1 << 10));
  Taker taker;
  const PullRequest request = pull({range(0, kRows)});
  for (size_t i = 1; i <= 20; ++i) {
    read(answers, kIdle, request, taker);
    while (taker.answers < i) {
      ASSERT_LT(go_on(answers), 10);
      ASSERT_FALSE(taker.sent.empty());
      taker.take();
    }
  }
  taker.take();
  EXPECT_EQ(taker.taken.size(), 20 * whole(request).size());
  for (const Taker& each : idle) EXPECT_EQ(each.answers, 0u);
}

TEST_F(ReadAnswersTest, ThoseThatTakeHaveTurns) {
  make_tables();
  ReadAnswers answers = make(64);
  std::vector<Taker> takers(10);
  for (size_t peer = 0; peer < takers.size(); ++peer) {
    // The first asks for much at once.
    for (size_t i = 0; i < (peer == 0 ? 100 : 4); ++i)
      read(answers, peer, pull({range(0, kRows)}), takers[peer]);
  }
  while (takers[1].answers == 0) {
    go_on(answers);
    for (Taker& taker : takers) taker.take();
  }
  for (const Taker& taker : takers) {
    EXPECT_NEAR(static_cast<double>(taker.taken.size()), static_cast<double>(takers[1].taken.size()), 2048);
  }
}

TEST_F(ReadAnswersTest, ConnectionsThatAreClosedLeaveNothing) {
  make_tables();
  ReadAnswers answers = make(64);
  std::vector<Taker> takers(10);
  for (size_t peer = 0; peer < takers.size(); ++peer)
    read(answers, peer, pull({range(0, kRows)}), takers[peer]);
  go_on(answers);
  for (Taker& taker : takers) taker.take(), taker.wanted = false;
  go_on(answers);
  EXPECT_EQ(answers.num_waiting(), 0u);
  EXPECT_EQ(answers.bytes_in_use(), 0u);
  EXPECT_EQ(held_.bytes_in_use(), 0u);
}

TEST_F(ReadAnswersTest, ARowThatIsLongerThanAnAccountComesToo) {
  make_tables(kLong, 10);
  ReadAnswers answers = make(64);
  std::vector<Taker> takers(2);
  const PullRequest request = pull({range(3, 2)});
  for (size_t peer = 0; peer < takers.size(); ++peer) read(answers, peer, request, takers[peer]);
  while (takers[0].answers == 0 || takers[1].answers == 0) {
    go_on(answers);
    EXPECT_LE(answers.bytes_in_use(), 2 * kLong * sizeof(float));
    ASSERT_FALSE(takers[0].sent.empty() && takers[1].sent.empty());
    for (Taker& taker : takers) taker.take();
  }
  for (Taker& taker : takers) EXPECT_TRUE(taker.taken == whole(request));
}

}  // namespace
}  // namespace ps::read_answers_test
