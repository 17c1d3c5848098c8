// Rows on their way back to shards that answer as the test says.
#include "ps/client/stored_row_returns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "fake_shards.h"
#include "optim/synthetic_parameter.h"

namespace ps::stored_row_returns_test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// A table of width 1 without state; the weight of a row is its key.
class StoredRowReturnsTest : public testing::Test {
 protected:
  StoredRowReturnsTest() {
    shards_.handlers[Message::kReturnRows] = [](size_t, std::string_view) { return ""; };
  }

  static RowBlock rows(std::vector<uint64_t> keys) {
    RowBlock block;
    block.values.assign(keys.begin(), keys.end());
    block.keys = std::move(keys);
    return block;
  }

  // The messages that a shard got, in their order.
  std::vector<ReturnedRows> got_by(size_t shard) const {
    std::vector<ReturnedRows> messages;
    for (const FakeShards::Asked& asked : shards_.of_type(Message::kReturnRows)) {
      if (asked.shard != shard) continue;
      messages.push_back(decode_returned_rows(
          asked.body, [](uint32_t) { return TableLayout{.name = "table", .sparse = true, .width = 1}; }));
    }
    return messages;
  }

  const std::vector<ParameterSpec> specs_ = {synthetic_parameter("table", ParameterKind::kRows, true, 0, 1)};
  FakeShards shards_{2};
};

TEST_F(StoredRowReturnsTest, EachRowComesToOneShardWithItsValues) {
  shards_.run([&](ShardLinks& links) {
    StoredRowReturns returns(links, specs_);
    returns.send(0, rows({1, 2, 3, 50, 51, 1000}));
    links.wait([&] { return returns.on_their_way() == 0; });
  });
  std::vector<uint64_t> keys;
  for (size_t shard : {0, 1}) {
    const std::vector<ReturnedRows> messages = got_by(shard);
    ASSERT_EQ(messages.size(), 1u) << "shard " << shard;
    ASSERT_EQ(messages[0].slices.size(), 1u);
    const RowBlock& block = messages[0].slices[0].rows;
    for (size_t i = 0; i < block.size(); ++i)
      EXPECT_EQ(block.values[i], static_cast<float>(block.keys[i])) << "row " << block.keys[i];
    keys.insert(keys.end(), block.keys.begin(), block.keys.end());
  }
  EXPECT_THAT(keys, UnorderedElementsAre(1, 2, 3, 50, 51, 1000));
}

TEST_F(StoredRowReturnsTest, ARowIsOnItsWayUntilAllMessagesWithItAreAnswered) {
  shards_.run([&](ShardLinks& links) {
    StoredRowReturns returns(links, specs_);
    EXPECT_EQ(returns.on_their_way(), 0u);
    returns.send(0, rows({7}));
    returns.send(0, rows({7}));
    returns.send(0, rows({8}));
    EXPECT_EQ(returns.on_their_way(), 3u);
    EXPECT_TRUE(returns.is_on_its_way(0, 7));
    EXPECT_FALSE(returns.is_on_its_way(0, 9));
    bool left_early = false;
    links.wait([&] {
      left_early |= returns.on_their_way() == 3 && !returns.is_on_its_way(0, 7);
      return returns.on_their_way() == 0;
    });
    EXPECT_FALSE(left_early);
    EXPECT_FALSE(returns.is_on_its_way(0, 7));
    EXPECT_FALSE(returns.is_on_its_way(0, 8));
  });
}

TEST_F(StoredRowReturnsTest, AllShardsHearThatThereAreRowsAndMessagesAreNumbered) {
  shards_.run([&](ShardLinks& links) {
    StoredRowReturns returns(links, specs_);
    returns.announce();
    returns.send(0, rows({1, 2, 3, 50, 51, 1000}));
    links.wait([&] { return returns.on_their_way() == 0; });
  });
  for (size_t shard : {0, 1}) {
    std::vector<uint64_t> numbers;
    for (const ReturnedRows& message : got_by(shard)) numbers.push_back(message.number);
    EXPECT_THAT(numbers, ElementsAre(1, 2)) << "shard " << shard;
    EXPECT_TRUE(got_by(shard).at(0).slices.empty()) << "shard " << shard;
  }
}

}  // namespace
}  // namespace ps::stored_row_returns_test
