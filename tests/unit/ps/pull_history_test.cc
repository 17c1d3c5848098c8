// The pulls of a trainer that pushes name, and requests as a snapshot has them.
#include "ps/server/pull_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/snapshot_fields.h"
#include "support/scratch_folder.h"

namespace ps::pull_history_test {
namespace {

using testing::ElementsAre;

PullRequest pull_of(uint64_t number, uint64_t step, std::vector<uint64_t> keys,
                    RowType type = RowType::kF32) {
  PullRequest request;
  request.number = number;
  request.step = step;
  request.type = type;
  request.row_slices.resize(2);
  request.row_slices[0].keys = std::move(keys);
  RowSlice& range = request.row_slices[1];
  range.parameter = 1;
  range.by_keys = false;
  range.first = 2;
  range.count = 3;
  range.exact = true;
  return request;
}

class PullHistoryTest : public testing::Test {
 protected:
  void add(const PullRequest& request, const std::string& rows) {
    history_.add({std::make_shared<const PullRequest>(request),
                  rows.empty() ? nullptr : std::make_shared<const Payload>(to_buffer(pool_, rows))});
  }
  // The answer that an equal pull gets again; "none" when there is none.
  static std::string answer(const PullHistory& history, const PullRequest& request) {
    const std::shared_ptr<const Payload> rows = history.answer_to(request);
    return rows ? std::string(rows->head.data(), rows->head.size()) : "none";
  }
  std::string answer(const PullRequest& request) const { return answer(history_, request); }
  static std::string saved(const PullHistory& history) {
    std::string out;
    history.save(out);
    return out;
  }

  BufferPool pool_;
  TableMemory tables_{std::make_shared<MemoryBudget>(), {}};
  ShardCounters counters_;
  HeldMemory held_{1 << 20, tables_, counters_};
  PullHistory history_;
};

TEST_F(PullHistoryTest, APushFindsThePullThatItNames) {
  add(pull_of(4, 0, {1, 2}), "rows");
  ASSERT_NE(history_.find(4), nullptr);
  EXPECT_THAT(history_.find(4)->request->row_slices[0].keys, ElementsAre(1, 2));
  EXPECT_EQ(history_.find(5), nullptr);
}

TEST_F(PullHistoryTest, PullsWithoutANumberAreNotKept) {
  add(pull_of(0, 0, {1, 2}), "rows");
  EXPECT_EQ(history_.find(0), nullptr);
  EXPECT_EQ(answer(pull_of(0, 0, {1, 2})), "none");
}

TEST_F(PullHistoryTest, AnEqualPullOfAnyNumberIsAnsweredAgain) {
  add(pull_of(4, 7, {1, 2}), "rows");
  EXPECT_EQ(answer(pull_of(9, 7, {1, 2})), "rows");
  EXPECT_EQ(answer(pull_of(9, 8, {1, 2})), "none") << "of another step";
  EXPECT_EQ(answer(pull_of(9, 7, {1, 3})), "none") << "of other rows";
  EXPECT_EQ(answer(pull_of(9, 7, {1})), "none") << "of fewer rows";
  EXPECT_EQ(answer(pull_of(9, 7, {1, 2}, RowType::kF16)), "none") << "in another type";
  PullRequest other = pull_of(9, 7, {1, 2});
  other.row_slices[1].first = 3;
  EXPECT_EQ(answer(other), "none") << "of another range";
  other = pull_of(9, 7, {1, 2});
  other.row_slices.pop_back();
  EXPECT_EQ(answer(other), "none") << "of fewer slices";
}

TEST_F(PullHistoryTest, PullsBeforeAStepAreForgotten) {
  add(pull_of(4, 6, {1}), "six");
  history_.take_over();
  add(pull_of(4, 6, {2}), "six");
  add(pull_of(5, 7, {1}), "seven");
  history_.forget_before(7);
  EXPECT_EQ(history_.find(4), nullptr);
  EXPECT_NE(history_.find(5), nullptr);
  EXPECT_EQ(answer(pull_of(1, 6, {1})), "none") << "nor has the process before it";
  EXPECT_EQ(answer(pull_of(1, 7, {1})), "seven");
}

TEST_F(PullHistoryTest, AnotherProcessHasNumbersOfItsOwnAndTheSameAnswers) {
  add(pull_of(4, 7, {1}), "rows");
  history_.take_over();
  EXPECT_EQ(history_.find(4), nullptr);
  EXPECT_EQ(answer(pull_of(1, 7, {1})), "rows");
}

TEST_F(PullHistoryTest, PullsOfAProcessThatIsGoneKeepNoMemoryButForTheirAnswers) {
  const auto unanswered = std::make_shared<const PullRequest>(pull_of(4, 7, {1}));
  const auto answered = std::make_shared<const PullRequest>(pull_of(5, 7, {2}));
  history_.add({unanswered, nullptr});
  history_.add({answered, std::make_shared<const Payload>(to_buffer(pool_, "rows"))});
  history_.take_over();
  EXPECT_EQ(unanswered.use_count(), 1);
  EXPECT_EQ(answered.use_count(), 2);
}

TEST_F(PullHistoryTest, TheOldestOfTooManyAreForgotten) {
  for (uint64_t number = 1; number <= 4097; ++number) add(pull_of(number, 0, {}), "");
  EXPECT_EQ(history_.find(1), nullptr);
  EXPECT_NE(history_.find(2), nullptr);
  EXPECT_NE(history_.find(4097), nullptr);
}

TEST_F(PullHistoryTest, ASavedHistoryGivesTheSameAnswers) {
  add(pull_of(3, 7, {1}), "of the process before");
  history_.take_over();
  add(pull_of(1, 7, {2}), "of this one");
  add(pull_of(2, 7, {3}), "");
  const std::string bytes = saved(history_);
  PullHistory again;
  ByteReader in(bytes);
  again.load(in, pool_, held_, /*rank=*/2);
  EXPECT_TRUE(in.ok() && in.remaining() == 0);
  EXPECT_EQ(answer(again, pull_of(9, 7, {1})), "of the process before");
  EXPECT_EQ(answer(again, pull_of(9, 7, {2})), "of this one");
  EXPECT_NE(again.find(1), nullptr);
  EXPECT_EQ(again.find(2), nullptr) << "it had no answer to give again";
  EXPECT_EQ(again.find(3), nullptr);
  EXPECT_EQ(saved(again), bytes);
  EXPECT_GT(held_.bytes_of(2), 0u);
  again = PullHistory();
  EXPECT_EQ(held_.bytes_in_use(), 0u);
}

TEST_F(PullHistoryTest, APrefixOfASavedHistoryIsRefused) {
  add(pull_of(1, 7, {1, 2}), "rows");
  const std::string bytes = saved(history_);
  for (size_t size = 0; size < bytes.size(); ++size) {
    PullHistory again;
    ByteReader in(std::string_view(bytes).substr(0, size));
    const Error error = error_of([&] { again.load(in, pool_, held_, /*rank=*/2); });
    EXPECT_TRUE(error.code() == Code::kCorrupt || (error.message().empty() && !in.ok())) << size << " bytes";
  }
}

TEST(SnapshotFields, ATextIsTakenWholeOrNotAtAll) {
  std::string bytes;
  put_text(bytes, std::string_view("a\0b", 3));
  put_text(bytes, "");
  ByteReader in(bytes);
  EXPECT_EQ(read_text(in), std::string_view("a\0b", 3));
  EXPECT_EQ(read_text(in), "");
  EXPECT_EQ(in.remaining(), 0u);
  for (size_t size = 1; size < 11; ++size) {
    ByteReader cut(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(error_of([&] { read_text(cut); }).code(), Code::kCorrupt) << size;
  }
  const std::string longest(8, '\xff');
  ByteReader endless(longest);
  EXPECT_EQ(error_of([&] { read_text(endless); }).code(), Code::kCorrupt);
}

TEST(SnapshotFields, APullIsEncodedAsItsTrainerWould) {
  std::string parts;
  encode_key_slice(0, std::vector<uint64_t>{3, 70, ~uint64_t{0}}, parts);
  encode_range_slice(2, 5, 9, true, parts);
  const std::string body =
      encode_pull({.step = 6, .mode = PullMode::kTrain, .type = RowType::kF16, .number = 8}, 2, parts);
  EXPECT_EQ(encode_again(decode_pull(body)), body);
}

// Its keys travel with it, also where the trainer named a pull in their place.
TEST(SnapshotFields, APushIsEncodedWithItsKeysItsCountsAndItsRows) {
  const std::vector<int64_t> widths = {2, 1};
  const std::vector<uint64_t> keys = {3, 70};
  const std::vector<KeyCount> counts = {{2, 1}, {4, 3}};
  std::string parts;
  encode_counted_slice(0, keys, counts, parts);
  encode_range_slice(1, 5, 3, true, parts);
  const PushHeader header{.step = 6,
                          .info = {4, 1, true},
                          .begins_checkpoint = true,
                          .slice = 1,
                          .num_slices = 3,
                          .chunk = "state"};
  std::string body = encode_push(header, 2, parts);
  for (float value : {1.0f, 2.0f, 3.0f, 4.0f}) put(body, value);
  body.resize(padded(body.size()), '\0');
  for (float value : {5.0f, 6.0f, 7.0f}) put(body, value);
  body.resize(padded(body.size()), '\0');
  BufferPool pool;
  PushRequest request = decode_push(to_buffer(pool, body), widths);
  EXPECT_EQ(encode_again(request, widths), body);
  request.pulled = 12;
  EXPECT_EQ(encode_again(request, widths), body);
}

}  // namespace
}  // namespace ps::pull_history_test
