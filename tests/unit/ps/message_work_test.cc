// No message makes a shard work for long, while which it serves no other: the work of one is counted, in keys and in bytes of
// rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "config/json.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/shard.h"
#include "ps/server/slice_checks.h"
#include "ps/wire/stored_rows.h"
#include "recording_reply.h"

namespace ps::message_work_test {
namespace {

using testing::HasSubstr;

// A shard of a narrow and a wide table and a matrix, and its one trainer.
class MessageWork : public testing::Test {
 protected:
  static constexpr uint32_t kNarrow = 0, kWide = 1, kMatrix = 2;
  static constexpr int64_t kNarrowCols = 2, kWideCols = 1024, kMatrixCols = 64;
  static constexpr uint64_t kWideRows = kMostRowBytes / (kWideCols * sizeof(float));
  static constexpr uint64_t kMatrixRows = kMostRowBytes / (kMatrixCols * sizeof(float));

  MessageWork() {
    const std::vector specs = {
        synthetic_parameter("narrow", ParameterKind::kRows, true, 0, kNarrowCols),
        synthetic_parameter("wide", ParameterKind::kRows, true, 0, kWideCols),
        synthetic_parameter("matrix", ParameterKind::kMatrix, false, 2 * kMatrixRows, kMatrixCols)};
    shard_ = std::make_unique<Shard>(specs, make_optimizer_plan({{"type", "sgd"}}, "sum"), ShardPlace(),
                                     Consistency(), TrainerLoss());
    shard_->membership().join({0, 1, 1}, {});
  }

  static std::vector<uint64_t> keys(uint64_t first, uint64_t count) {
    std::vector<uint64_t> keys(count);
    std::iota(keys.begin(), keys.end(), first);
    return keys;
  }
  static std::string keyed(uint32_t parameter, uint64_t first, uint64_t count) {
    std::string part;
    encode_key_slice(parameter, keys(first, count), part);
    return part;
  }
  static std::string range(uint64_t first, uint64_t count) {
    std::string part;
    encode_range_slice(kMatrix, first, count, false, part);
    return part;
  }

  // The code of the refusal, with its text in message_; 0: the request was done.
  template <class Body>
  int outcome(Body&& body) {
    outcome_ = std::make_shared<Outcome>();
    ReplyPtr reply = std::make_unique<RecordingReply>(outcome_);
    try {
      body(reply);
    } catch (const Error& error) {
      message_ = error.message();
      return static_cast<int>(error.code());
    }
    return 0;
  }

  int pull(PullMode mode, RowType type, uint32_t num_row_slices, const std::string& parts) {
    const uint64_t before = shard_->counters().rows_pulled;
    const int code = outcome([&](ReplyPtr& reply) {
      PullRequest request = decode_pull(encode_pull({.mode = mode, .type = type}, num_row_slices, parts));
      mode == PullMode::kRead ? shard_->pulls().read(~uint64_t{0}, std::move(request), reply)
                              : shard_->pull(0, std::move(request), reply);
    });
    while (code == 0 && outcome_->waits()) shard_->pulls().read_on();  // a long answer is made in turns
    work_ = {shard_->counters().rows_pulled - before, outcome_->answer ? outcome_->answer->size() : 0};
    return code;
  }

  Buffer body_of(std::string body, uint64_t row_bytes) {
    body.resize(padded(body.size()) + row_bytes, '\0');
    Buffer buffer = pool_.take(body.size());
    std::ranges::copy(body, buffer.data());
    return buffer;
  }

  int push(uint32_t num_row_slices, const std::string& parts, uint64_t row_bytes) {
    const uint64_t before = shard_->counters().rows_pushed;
    const int code = outcome([&](ReplyPtr& reply) {
      Buffer body = body_of(
          encode_push({.step = shard_->steps().clock(), .info = {1, 0}}, num_row_slices, parts), row_bytes);
      shard_->push(0, decode_push(std::move(body), shard_->tables().widths()), reply);
    });
    work_ = {shard_->counters().rows_pushed - before, code == 0 ? row_bytes : 0};
    return code;
  }

  int load(const std::string& part, uint64_t row_bytes) {
    return outcome([&](ReplyPtr&) {
      shard_->load(decode_load(body_of(encode_load(1, part), row_bytes), shard_->tables().widths()));
    });
  }

  int stored(uint32_t parameter, uint64_t count) {
    return outcome([&](ReplyPtr& reply) {
      const std::string body = encode_row_slices(1, keyed(parameter, 0, count));
      reply->answer(Payload(shard_->stored_rows(decode_stored_rows_request({body.data(), body.size()}))));
    });
  }

  int give_back(uint32_t parameter, int64_t cols, uint64_t count, int slices) {
    ReturnedRows returned{++last_return_, {}};
    for (int n = 0; n < slices; ++n) {
      RowBlock rows;
      rows.keys = keys(static_cast<uint64_t>(n) * count, count);
      rows.values.resize(count * static_cast<uint64_t>(cols));
      returned.slices.push_back({parameter, std::move(rows)});
    }
    return outcome([&](ReplyPtr&) { shard_->return_rows(0, encode_returned_rows(returned)); });
  }

  static constexpr int kRefused = static_cast<int>(Code::kData);
  BufferPool pool_;
  std::unique_ptr<Shard> shard_;
  std::shared_ptr<Outcome> outcome_;
  std::string message_;
  std::pair<uint64_t, uint64_t> work_;  // rows and their bytes, of the last pull or push
  uint64_t last_return_ = 0;
};

TEST_F(MessageWork, OfPullsIsOfSoManyKeysAndBytes) {
  for (const PullMode mode : {PullMode::kTrain, PullMode::kRead}) {
    EXPECT_EQ(pull(mode, RowType::kF32, 1, keyed(kNarrow, 0, kMostMessageKeys)), 0);
    EXPECT_EQ(work_, std::pair(kMostMessageKeys, kMostMessageKeys * kNarrowCols * sizeof(float)));
    EXPECT_EQ(pull(mode, RowType::kF32, 1, keyed(kNarrow, 0, kMostMessageKeys + 1)), kRefused);
    for (const RowType type : {RowType::kF32, RowType::kF16}) {
      EXPECT_EQ(pull(mode, type, 1, keyed(kWide, 0, kWideRows)), 0);
      EXPECT_EQ(work_.first, kWideRows);
      EXPECT_LE(work_.second, kMostRowBytes);
      EXPECT_EQ(pull(mode, type, 1, keyed(kWide, 0, kWideRows + 1)), kRefused)
          << "also where they travel as less";
      EXPECT_EQ(pull(mode, type, 2, range(0, kMatrixRows) + range(0, 1)), kRefused);
    }
    EXPECT_EQ(work_, std::pair(uint64_t{0}, uint64_t{0})) << "what is refused is not begun";
  }
}

TEST_F(MessageWork, OfPushesIsOfSoManyKeysAndBytes) {
  const auto bytes = [](uint64_t rows, int64_t cols) {
    return rows * static_cast<uint64_t>(cols) * sizeof(float);
  };
  EXPECT_EQ(push(1, keyed(kNarrow, 0, kMostMessageKeys), bytes(kMostMessageKeys, kNarrowCols)), 0);
  EXPECT_EQ(work_.first, kMostMessageKeys);
  EXPECT_EQ(push(1, keyed(kNarrow, 0, kMostMessageKeys + 1), bytes(kMostMessageKeys + 1, kNarrowCols)),
            kRefused);
  EXPECT_EQ(push(1, keyed(kWide, 0, kWideRows), bytes(kWideRows, kWideCols)), 0);
  EXPECT_EQ(push(1, keyed(kWide, 0, kWideRows + 1), bytes(kWideRows + 1, kWideCols)), kRefused);
  EXPECT_EQ(push(1, range(0, kMatrixRows), kMostRowBytes), 0);
  EXPECT_EQ(work_, std::pair(kMatrixRows, kMostRowBytes));
  EXPECT_EQ(push(1, range(0, kMatrixRows + 1), bytes(kMatrixRows + 1, kMatrixCols)), kRefused);
  EXPECT_THAT(message_, HasSubstr("the rows of a message take more than 16.0 MiB"));
  EXPECT_EQ(work_, std::pair(uint64_t{0}, uint64_t{0}));
}

TEST_F(MessageWork, OfLoadsAndRowsAsTheyAreStoredIsTheSame) {
  EXPECT_EQ(load(range(0, kMatrixRows), kMostRowBytes), 0);
  EXPECT_EQ(load(range(0, kMatrixRows + 1), kMostRowBytes + kMatrixCols * sizeof(float)), kRefused);
  constexpr uint64_t kNarrowBytes = kNarrowCols * sizeof(float);
  EXPECT_EQ(load(keyed(kNarrow, 0, kMostSetRows), kMostSetRows * kNarrowBytes), 0);
  EXPECT_EQ(load(keyed(kNarrow, 0, kMostSetRows + 1), (kMostSetRows + 1) * kNarrowBytes), kRefused);
  EXPECT_EQ(stored(kWide, kWideRows / 2), 0);
  EXPECT_EQ(stored(kWide, kWideRows + 1), kRefused);
  EXPECT_EQ(stored(kNarrow, kMostMessageKeys + 1), kRefused);
  EXPECT_EQ(give_back(kNarrow, kNarrowCols, kMostSetRows, 1), 0);
  EXPECT_EQ(give_back(kNarrow, kNarrowCols, kMostSetRows / 2 + 1, 2), kRefused) << "of all slices together";
  EXPECT_THAT(message_, HasSubstr("sets 32770 rows by their keys, expected at most 32768"));
  EXPECT_EQ(give_back(kWide, kWideCols, kWideRows / 2, 1), 0);
  EXPECT_EQ(give_back(kWide, kWideCols, kWideRows / 2 + 1, 2), kRefused);
}

TEST_F(MessageWork, OfKeysIsOfOneAnswer) {
  for (uint64_t first = 0; first < 3 * kMostMessageKeys; first += kMostMessageKeys) {
    ASSERT_EQ(pull(PullMode::kTrain, RowType::kF32, 1, keyed(kNarrow, first, kMostMessageKeys)), 0);
  }
  KeysRequest request{.parameter = kNarrow, .cursor = {}, .most = UINT32_MAX};
  uint64_t found = 0;
  for (bool more = true; more;) {
    const std::string body = shard_->tables().keys(request);
    const FoundKeys answer = decode_found_keys({body.data(), body.size()});
    EXPECT_LE(answer.keys.size(), kMostKeys + kMostKeys / 4) << "about so many";
    found += answer.keys.size();
    more = answer.more;
    request.cursor = answer.cursor;
  }
  EXPECT_EQ(found, 3 * kMostMessageKeys);
}

// Rows longer than a message's share are served one by one.
TEST_F(MessageWork, OfALongRowIsThatOfTheRow) {
  const int64_t cols = static_cast<int64_t>(kMostRowBytes / sizeof(float)) + 1;
  shard_ = std::make_unique<Shard>(
      std::vector{synthetic_parameter("long", ParameterKind::kMatrix, false, 2, cols)},
      make_optimizer_plan({{"type", "sgd"}}, "sum"), ShardPlace(), Consistency(), TrainerLoss());
  shard_->membership().join({0, 1, 1}, {});
  std::string one, two;
  encode_range_slice(0, 0, 1, false, one);
  encode_range_slice(0, 0, 2, false, two);
  EXPECT_EQ(pull(PullMode::kTrain, RowType::kF32, 1, one), 0);
  EXPECT_EQ(work_.first, 1u);
  EXPECT_EQ(pull(PullMode::kTrain, RowType::kF32, 1, two), kRefused);
}

}  // namespace
}  // namespace ps::message_work_test
