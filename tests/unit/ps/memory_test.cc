// Memory limits: of tables, and of what waits.
#include "ps/server/memory_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "ps/server/shard.h"
#include "simulate/synthetic_job.h"

namespace ps::memory_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Keeps answers, as a connection does that is not read.
class LastReply final : public Reply {
 public:
  LastReply(std::optional<Error>& error, std::vector<std::shared_ptr<const Payload>>& kept)
      : error_(error), kept_(kept) {}
  void answer(std::shared_ptr<const Payload> payload) override { kept_.push_back(std::move(payload)); }
  void fail(const Error& error) override { error_ = error; }
  bool wanted() const override { return true; }

 private:
  std::optional<Error>& error_;
  std::vector<std::shared_ptr<const Payload>>& kept_;
};

// A shard of a table of width 16, and of trainers that pull and push some of its keys.
class MemoryTest : public testing::Test {
 protected:
  std::unique_ptr<Shard> make(const ShardLimits& limits, std::vector<ParameterSpec> specs, int trainers = 1) {
    auto shard = std::make_unique<Shard>(std::move(specs), make_optimizer_plan({{"type", "adagrad"}}, "sum"),
                                         ShardPlace(), Consistency(), TrainerLoss(), limits);
    for (int rank = 0; rank < trainers; ++rank) shard->membership().join({rank, trainers, 1}, 0s);
    return shard;
  }
  void make(const ShardLimits& limits, int trainers = 1) {
    shard_ = make(limits, {synthetic_parameter("table", ParameterKind::kRows, true, 0, 16)}, trainers);
  }

  static std::vector<uint64_t> keys(uint64_t first, uint64_t count) {
    std::vector<uint64_t> keys(count);
    std::iota(keys.begin(), keys.end(), first);
    return keys;
  }

  // The code of the refusal; 0 when there was none, or none yet.
  int outcome(const std::function<void(ReplyPtr&)>& request) {
    failed_.reset();
    ReplyPtr reply = std::make_unique<LastReply>(failed_, kept_);
    try {
      request(reply);
    } catch (const Error& error) {
      failed_ = error;
    }
    return failure();
  }
  int failure() {
    message_ = failed_ ? failed_->message() : "";
    return failed_ ? static_cast<int>(failed_->code()) : 0;
  }
  int pull(const std::vector<uint64_t>& keys, PullMode mode = PullMode::kTrain) {
    std::string parts;
    encode_key_slice(0, keys, parts);
    PullRequest request = decode_pull(encode_pull({.step = step_, .mode = mode}, 1, parts));
    return outcome([&](ReplyPtr& reply) {
      mode == PullMode::kRead ? shard_->pulls().read(kReader, request, reply)
                              : shard_->pull(0, request, reply);
    });
  }
  int push(int rank, const std::vector<uint64_t>& keys) {
    std::string parts;
    encode_key_slice(0, keys, parts);
    std::string body = encode_push({.step = step_, .info = {1, 0}}, 1, parts);
    body.resize(body.size() + keys.size() * 16 * sizeof(float));
    return push(rank, body);
  }
  int push(int rank, std::string_view body) {
    Buffer buffer = pool_.take(body.size());
    std::copy(body.begin(), body.end(), buffer.data());
    return outcome([&](ReplyPtr& reply) {
      shard_->push(rank, decode_push(std::move(buffer), shard_->tables().widths()), reply);
    });
  }

  // Creates rows, a thousand at a time, until that is refused; returns how many there are.
  uint64_t fill() {
    uint64_t rows = 0;
    while (kept_.clear(), pull(keys(rows, 1000)) == 0 && push(0, keys(rows, 1000)) == 0)
      rows += 1000, ++step_;
    return rows;
  }

  static constexpr int kExhausted = static_cast<int>(Code::kExhausted);
  static constexpr uint64_t kMebi = 1 << 20, kReader = ~uint64_t{0};
  BufferPool pool_;
  std::optional<Error> failed_;  // of the last request; outlives the shard, whose replies know it
  std::unique_ptr<Shard> shard_;
  uint64_t step_ = 0;
  std::string message_;
  std::vector<std::shared_ptr<const Payload>> kept_;  // answers that are not taken
};

ShardLimits tables_of(uint64_t bytes) {
  return {.tables = std::make_shared<MemoryBudget>(bytes)};
}

TEST_F(MemoryTest, ATableThatIsFullGoesOnServingItsRows) {
  ShardLimits limits = tables_of(32 * kMebi);
  make(limits);
  const uint64_t rows = fill();
  EXPECT_GT(rows * 128, 24 * kMebi);  // 16 weights and their state
  EXPECT_LT(limits.tables->used_bytes(), 34 * kMebi);
  EXPECT_THAT(message_, HasSubstr("--max-memory"));
  EXPECT_EQ(pull(keys(rows + 5000, 1000)), kExhausted);
  EXPECT_EQ(pull(keys(rows - 1000, 1000)), 0);
  EXPECT_EQ(push(0, keys(rows - 1000, 1000)), 0);
  EXPECT_EQ(pull(keys(rows + 5000, 1000), PullMode::kRead), 0);
}

TEST_F(MemoryTest, KeysComeInPagesOfWhichTheShardKeepsNone) {
  make(tables_of(32 * kMebi));
  const uint64_t rows = fill();
  std::vector<uint64_t> all;
  FoundKeys found{.more = true};
  while (found.more) {
    const std::string page = shard_->tables().keys({.cursor = found.cursor, .most = 1000});
    EXPECT_LT(page.size(), 16u << 10);
    found = decode_found_keys(page);
    EXPECT_TRUE(std::ranges::is_sorted(found.keys));
    all.insert(all.end(), found.keys.begin(), found.keys.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(all, keys(0, rows));
  for (const ScanCursor cursor : {ScanCursor{64, 0}, {~0u, ~0ull}, {63, ~0ull}}) {
    EXPECT_FALSE(decode_found_keys(shard_->tables().keys({.cursor = cursor})).more)
        << "a cursor from nowhere";
  }
  EXPECT_ANY_THROW(shard_->tables().keys({.parameter = 1}));
}

TEST_F(MemoryTest, ShardsShareWhatThereIs) {
  ShardLimits limits = tables_of(32 * kMebi);
  make(limits);
  const uint64_t alone = fill();
  std::unique_ptr<Shard> first = std::move(shard_);
  step_ = 0;
  make(limits);
  EXPECT_LT(fill(), 2000u);
  first.reset();
  step_ = 0;
  make(limits);
  EXPECT_NEAR(static_cast<double>(fill()), static_cast<double>(alone), 2000);
  shard_.reset();
  EXPECT_EQ(limits.tables->used_bytes(), 0u);
}

TEST_F(MemoryTest, DenseParametersThatDoNotFitAreRefusedBeforeAnyIsMade) {
  ShardLimits limits = tables_of(32 * kMebi);
  auto terabytes = synthetic_parameter("embedding", ParameterKind::kRows, false, int64_t{1} << 40, 64);
  auto small = synthetic_parameter("matrix", ParameterKind::kMatrix, false, 10, 10);
  try {
    make(limits, {small, terabytes});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kExhausted);
    EXPECT_THAT(error.message(), HasSubstr("'embedding' [1099511627776, 64]"));
    EXPECT_THAT(error.message(), HasSubstr("(562949953422112 bytes)"));
    EXPECT_THAT(error.message(), HasSubstr("sparse_update"));
  }
  EXPECT_EQ(limits.tables->used_bytes(), 0u);
  make(limits, {small});
}

TEST_F(MemoryTest, DenseParametersCountTwiceSinceACheckpointCopiesThem) {
  const auto dense = synthetic_parameter("dense", ParameterKind::kRows, false, 100000, 16);
  const uint64_t bytes = 100000 * 2 * 16 * sizeof(float);  // with what AdaGrad has for each weight
  ShardLimits limits = tables_of(2 * bytes - 1);
  EXPECT_THROW(make(limits, {dense}), Error);
  limits = tables_of(2 * bytes + kMebi);
  const auto shard = make(limits, {dense});
  EXPECT_EQ(limits.tables->used_bytes(), 2 * bytes);
}

TEST_F(MemoryTest, WhatWaitsForOtherTrainersIsBounded) {
  ShardLimits limits;
  limits.held_bytes = kMebi;
  make(limits, 2);
  EXPECT_EQ(push(0, keys(0, 20000)), kExhausted);
  EXPECT_THAT(message_, HasSubstr("waits for other trainers"));
  EXPECT_EQ(push(0, keys(0, 5000)), 0);
  EXPECT_EQ(push(1, keys(0, 5000)), 0);
  EXPECT_EQ(shard_->steps().clock(), 1u);
}

TEST_F(MemoryTest, WhatTrainersTellOfThemselvesIsBoundedBesideIt) {
  ShardLimits limits;
  limits.held_bytes = kMebi;
  limits.tables = std::make_shared<MemoryBudget>(1200 << 10);
  make(limits, 2);
  PushHeader header{.info = {1, 0}, .num_slices = 4, .chunk = std::string(640 << 10, 'x')};
  const uint64_t before = limits.tables->used_bytes();
  auto push_next = [&](int rank) { return push(rank, encode_push(header, 0, "")); };
  EXPECT_EQ(push_next(0), 0);
  EXPECT_EQ(limits.tables->used_bytes(), before);
  ++header.slice;
  header.chunk = std::string(400 << 10, 'x');
  EXPECT_EQ(push_next(0), 0);
  EXPECT_EQ(limits.tables->used_bytes(), before + (1040 << 10)) << "more than there is room for beside";
  ++header.slice;
  EXPECT_EQ(push_next(0), kExhausted);
  EXPECT_THAT(message_, HasSubstr("400"));
  header.chunk = "little";
  EXPECT_EQ(push_next(0), 0);
  header.chunk.reset();
  ++header.slice;
  EXPECT_EQ(push_next(0), 0);
  header.num_slices = 1, header.slice = 0;
  EXPECT_EQ(push_next(1), 0);
  EXPECT_EQ(shard_->steps().clock(), 1u);
  EXPECT_EQ(shard_->trainer_states().chunk_states(shard_->tables().place()).size(), 3u);
  header.chunk.reset();
  for (int rank : {0, 1}) {
    EXPECT_EQ(push(rank, encode_push({.step = 1, .info = {1, 0}}, 0, "")), 0);
  }
  EXPECT_EQ(limits.tables->used_bytes(), before) << "it is forgotten";
}

TEST_F(MemoryTest, WithoutRoomForAnswersPullsWaitAndAfterLongAreRefused) {
  ShardLimits limits;
  limits.answer_bytes = kMebi + kMebi / 3;  // of which three quarters are for pulls to train
  make(limits);
  int rooms = 0;
  shard_->pulls().on_room([&rooms] { ++rooms; });
  for (int i = 0; i < 16; ++i) ASSERT_EQ(pull(keys(0, 1000)), 0);
  EXPECT_EQ(kept_.size(), 16u);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(pull(keys(0, 1000)), 0);
  EXPECT_EQ(kept_.size(), 16u) << "they wait";
  EXPECT_EQ(shard_->num_waiting(), 2u);
  EXPECT_EQ(rooms, 0);
  kept_.erase(kept_.begin(), kept_.begin() + 3);
  EXPECT_EQ(rooms, 1) << "for the first that was taken";
  shard_->answer_starved();
  EXPECT_EQ(kept_.size(), 15u);
  EXPECT_EQ(shard_->num_waiting(), 0u);
  EXPECT_EQ(pull(keys(0, 50000)), 0) << "longer than what is left";
  EXPECT_EQ(kept_.size(), 15u);
  shard_->membership().check_trainers(100s);
  EXPECT_EQ(failure(), 0);
  shard_->membership().check_trainers(191s);
  EXPECT_EQ(failure(), kExhausted);
  kept_.clear();
  EXPECT_EQ(pull(keys(0, 50000)), 0);
  EXPECT_EQ(kept_.size(), 1u) << "one that is alone is never too long";
}

// Each kind of memory that trainers can make a shard hold, until it is refused.
class HeldMemoryTest : public MemoryTest {
 protected:
  HeldMemoryTest() {
    limits_.held_bytes = kMebi;
    make(limits_, 2);
  }

  // Repeats the request until it is refused; returns how often it was not.
  int repeat(const std::function<int(int)>& request) {
    int times = 0;
    while (times < 100000 && request(times) == 0) ++times;
    EXPECT_EQ(failure(), kExhausted) << "after " << times;
    EXPECT_THAT(message_, HasSubstr("--max-memory"));
    EXPECT_GT(times, 0);
    return times;
  }
  int pull_numbered(uint64_t number, uint64_t step) {
    std::string parts;
    encode_key_slice(0, keys(0, 1000), parts);
    const PullRequest request = decode_pull(encode_pull({.step = step, .number = number}, 1, parts));
    return outcome([&](ReplyPtr& reply) { shard_->pull(0, request, reply); });
  }
  int gather(int rank, const std::string& bytes) {
    return outcome([&](ReplyPtr& reply) { shard_->gather(rank, {0, bytes}, reply); });
  }

  ShardLimits limits_;
};

TEST_F(HeldMemoryTest, PullsThatWaitForAStepAreBounded) {
  const int times =
      repeat([this](int number) { return pull_numbered(static_cast<uint64_t>(number) + 1, 7); });
  EXPECT_LT(times, 130) << "a thousand keys of 8 bytes each";
  shard_->membership().leave({0, 2, 1}, 0s);
  shard_->membership().refuse_waiting(Error(Code::kUnavailable, "over"));
  EXPECT_EQ(pull_numbered(1, 7), 0) << "what they had is there again";
}

TEST_F(HeldMemoryTest, PullsThatAreRememberedAreBoundedAndGoWithTheirProcess) {
  const auto pull = [this](int number) { return pull_numbered(static_cast<uint64_t>(number) + 1, 0); };
  const int times = repeat(pull);
  EXPECT_LT(times, 130);
  shard_->membership().leave({0, 2, 1}, 0s);
  shard_->membership().join({0, 2, 2}, 0s);
  EXPECT_EQ(repeat(pull), times) << "the process that comes names pulls of its own";
}

TEST_F(HeldMemoryTest, SlicesOfPushesWithoutRowsAreBounded) {
  const int times = repeat([this](int slice) {
    const PushHeader header{.info = {1, 0}, .slice = static_cast<uint32_t>(slice), .num_slices = 1 << 16};
    return push(0, encode_push(header, 0, ""));
  });
  EXPECT_LT(times, 2100) << "half a KiB each";
}

TEST_F(HeldMemoryTest, TheSumOfAGatheringIsBounded) {
  EXPECT_EQ(gather(0, std::string(600 << 10, 'x')), 0);
  EXPECT_EQ(gather(1, std::string(600 << 10, 'x')), kExhausted);
  EXPECT_EQ(gather(1, "little"), 0);
  EXPECT_EQ(kept_.size(), 2u);
}

TEST_F(HeldMemoryTest, TrainersAreCountedAndBoundedByTheConnectionsThatTheyNeed) {
  shard_ = nullptr;
  make(limits_, 1);
  shard_->membership().leave({0, 1, 1}, 0s);
  const auto begin = [this](int trainers) {
    return outcome([&](ReplyPtr&) { shard_->membership().join({0, trainers, 9}, 100s); });
  };
  EXPECT_EQ(begin(65536), static_cast<int>(Code::kUsage));
  EXPECT_THAT(message_, HasSubstr("65536 trainers, expected at most 1024"));
  EXPECT_EQ(begin(1000), kExhausted) << "of 2 KiB each";
  EXPECT_EQ(begin(2), 0);
}

TEST_F(HeldMemoryTest, ARunBeginsAlthoughTheOneThatWasLeftHoldsAllThereIs) {
  repeat([this](int number) { return pull_numbered(static_cast<uint64_t>(number) + 1, 0); });
  for (int rank = 0; rank < 2; ++rank) shard_->membership().leave({rank, 2, 1}, 0s);
  EXPECT_EQ(outcome([&](ReplyPtr&) { shard_->membership().join({0, 100, 9}, 100s); }), 0) << "of 2 KiB each";
  EXPECT_EQ(pull_numbered(1, 0), 0) << "what the run before had is there again";
}

TEST_F(HeldMemoryTest, AChunkIsHeldOnceBesideTheRowsOfItsPush) {
  const std::string chunk(600 << 10, 'c');
  std::string parts;
  encode_key_slice(0, keys(0, 1), parts);
  std::string body = encode_push({.info = {1, 0}, .chunk = chunk}, 1, parts);
  body.resize(body.size() + 16 * sizeof(float));
  EXPECT_EQ(push(0, body), 0);
  ShardStatus status;
  shard_->describe(status);
  std::map<std::string, uint64_t> held;
  for (const HeldStatus& kind : status.held) held[kind.kind] = kind.bytes;
  EXPECT_EQ(held["state chunks"], chunk.size());
  EXPECT_LT(held["pushed rows"], 64u << 10);
  EXPECT_GT(status.trainers[0].held_bytes, 0u);
  EXPECT_EQ(status.trainers[1].held_bytes, 0u);
  shard_->membership().refuse_waiting(Error(Code::kUnavailable, "over"));
  status = {};
  shard_->describe(status);
  for (const HeldStatus& kind : status.held)
    EXPECT_TRUE(kind.kind == "trainers" || kind.bytes == 0) << kind.kind;
}

// Readers that wait for room, and the bodies of what they ask.
TEST_F(HeldMemoryTest, ReadersThatWaitLeaveRoomForTrainers) {
  limits_.answer_bytes = 1 << 10;
  make(limits_, 2);
  int waiting = 0;
  while (waiting < 1000 && pull(keys(0, 1000), PullMode::kRead) == 0) ++waiting;
  EXPECT_EQ(failure(), static_cast<int>(Code::kUnavailable));
  EXPECT_GT(waiting, 3);
  EXPECT_EQ(gather(0, std::string(700 << 10, 'x')), 0);
}

// A log has what was accepted: a request that took no room for long then may take it for longer here.
TEST_F(HeldMemoryTest, NothingIsRefusedWhileALogIsReplayed) {
  shard_->begin_replay();
  EXPECT_EQ(push(0, keys(0, 20000)), 0);
  shard_->end_replay(0s);
  EXPECT_EQ(push(1, keys(0, 20000)), kExhausted);
}

TEST_F(MemoryTest, GradientsAndWeightsThatAreNotNumbersAreRefusedAndCounted) {
  make({});
  const float kInfinite = std::numeric_limits<float>::infinity(), kNaN = std::nanf("");
  std::string parts;
  encode_key_slice(0, keys(0, 3), parts);
  const auto body_with = [&](std::string body, size_t at, float value) {
    const size_t rows = body.size();
    body.resize(rows + 3 * 16 * sizeof(float));
    std::memcpy(body.data() + rows + at * sizeof(float), &value, sizeof value);
    return body;
  };
  uint64_t refused = 0;
  for (const float bad : {kInfinite, -kInfinite, kNaN, -kNaN}) {
    for (const size_t at : {0, 1, 46, 47}) {
      EXPECT_EQ(push(0, body_with(encode_push({.info = {1, 0}}, 1, parts), at, bad)),
                static_cast<int>(Code::kData));
      EXPECT_THAT(message_, HasSubstr("the gradient of 'table' has values that are not finite"));
      const std::string load = body_with(encode_load(1, parts), at, bad);
      EXPECT_EQ(outcome([&](ReplyPtr&) {
                  Buffer buffer = pool_.take(load.size());
                  std::ranges::copy(load, buffer.data());
                  shard_->load(decode_load(std::move(buffer), shard_->tables().widths()));
                }),
                static_cast<int>(Code::kData));
      refused += 2;
    }
  }
  EXPECT_EQ(shard_->counters().refused_not_finite, refused);
  EXPECT_EQ(shard_->steps().clock(), 0u);
  for (const float good : {std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(),
                           std::numeric_limits<float>::denorm_min(), -0.0f}) {
    EXPECT_EQ(push(0, body_with(encode_push({.step = step_, .info = {1, 0}}, 1, parts), 5, good)), 0);
    ++step_;
  }
}

TEST_F(MemoryTest, EncodedGradientsThatAreNotNumbersAreRefusedToo) {
  make({});
  std::string parts;
  encode_key_slice(0, keys(0, 1), parts);
  std::string body = encode_push({.info = {1, 0}, .type = RowType::kF16}, 1, parts);
  const size_t rows = body.size();
  body.resize(rows + padded(16 * sizeof(uint16_t)));
  const uint16_t infinite = 0x7c00;
  std::memcpy(body.data() + rows + 6, &infinite, sizeof infinite);
  EXPECT_EQ(push(0, body), static_cast<int>(Code::kData));
  EXPECT_EQ(shard_->counters().refused_not_finite, 1u);
  body[rows + 7] = 0;
  EXPECT_EQ(push(0, body), 0);
}

// A gradient of zeros takes no bytes with the codec threshold, and 64 a row once it is decoded.
TEST_F(MemoryTest, ADecodedPushIsGivenRoomBeforeItIsDecoded) {
  constexpr uint64_t kSliceRows = 2000, kRowBytes = 16 * sizeof(float);
  ShardLimits limits;
  limits.held_bytes = kMebi;
  shard_ =
      std::make_unique<Shard>(std::vector{synthetic_parameter("table", ParameterKind::kRows, true, 0, 16)},
                              make_optimizer_plan({{"type", "adagrad"}}, "sum"), ShardPlace(), Consistency(),
                              TrainerLoss(), limits, Json{{"type", "threshold"}});
  for (int rank : {0, 1}) shard_->membership().join({rank, 2, 1}, 0s);
  uint32_t slice = 0;
  auto push_zeros = [&](uint64_t rows) {
    std::string parts;
    encode_key_slice(0, keys(0, rows), parts);
    std::string body =
        encode_push({.info = {1, 0}, .coded = true, .slice = slice, .num_slices = 1 << 16}, 1, parts);
    put(body, uint64_t{0});
    body.resize(padded(body.size()));
    return push(0, body);
  };
  EXPECT_EQ(push_zeros(2 * kMebi / kRowBytes), kExhausted) << "one that is too long alone";
  while (push_zeros(kSliceRows) == 0) ++slice;
  EXPECT_EQ(failure(), kExhausted) << message_;
  EXPECT_GT(slice, 2u);
  EXPECT_LE(slice * kSliceRows * kRowBytes, kMebi);
}

TEST_F(MemoryTest, APullThatNamesTheSameRowsManyTimesMakesNoAnswerOfManyTimesTheirSize) {
  shard_ = make({}, {synthetic_parameter("matrix", ParameterKind::kMatrix, false, 1 << 16, 16)});  // 4 MiB
  for (const PullMode mode : {PullMode::kRead, PullMode::kTrain}) {
    for (const uint32_t times : {4u, 5u}) {
      std::string parts;
      for (uint32_t i = 0; i < times; ++i) encode_range_slice(0, 0, 1 << 16, false, parts);
      const PullRequest request = decode_pull(encode_pull({.mode = mode}, times, parts));
      const int code = outcome([&](ReplyPtr& reply) {
        mode == PullMode::kRead ? shard_->pulls().read(kReader, request, reply)
                                : shard_->pull(0, request, reply);
      });
      EXPECT_EQ(code, times == 4 ? 0 : static_cast<int>(Code::kData));
    }
  }
  EXPECT_THAT(message_, HasSubstr("the rows of a message take more than 16"));
}

TEST_F(MemoryTest, TablesGetWhatMessagesCannotUse) {
  for (uint64_t bytes : {uint64_t{400} * kMebi, uint64_t{4} << 30, uint64_t{1} << 40}) {
    for (int shards : {1, 3, 4}) {
      ASSERT_GE(bytes, least_memory_bytes(shards));
      ShardLimits limits = share_memory(bytes, shards);
      uint64_t messages = limits.request_bytes + limits.held_bytes + limits.answer_bytes;
      EXPECT_EQ(limits.tables->max_bytes() + messages * static_cast<uint64_t>(shards), bytes);
      EXPECT_GE(limits.tables->max_bytes(), bytes / 2);
      EXPECT_GE(limits.request_bytes, 2 * kMessageBytes);
    }
  }
}

}  // namespace
}  // namespace ps::memory_test
