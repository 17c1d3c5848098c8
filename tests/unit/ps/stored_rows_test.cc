// Rows as they are stored, on their way from a shard to a trainer that keeps copies of them.
#include "ps/wire/stored_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "config/json.h"
#include "optim/synthetic_parameter.h"
#include "ps/client/stored_row_pulls.h"
#include "ps/server/lent_rows.h"
#include "ps/server/table_updater.h"
#include "ps/wire/key_list.h"
#include "store/local_store.h"
#include "table/row_policy_state.h"

namespace ps::stored_rows_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const OptimizerPlan kMomentum = make_optimizer_plan(
    {{"type", "momentum"}, {"momentum", 0.9}, {"learning_rate", 0.1}, {"l2", 0.01}}, "mean");

class StoredRows : public testing::Test {
 protected:
  StoredRows() {
    specs_ = {synthetic_parameter("table", ParameterKind::kRows, true, 0, 3),
              synthetic_parameter("matrix", ParameterKind::kMatrix, false, 4, 2)};
    tables_ = std::make_unique<ShardTables>(specs_, kMomentum, ShardPlace());
    local_ = std::make_unique<LocalStore>(specs_, kMomentum, UINT64_MAX, device_);
  }

  static RowSlice slice(std::vector<uint64_t> keys, uint32_t parameter = 0) {
    RowSlice slice;
    slice.parameter = parameter;
    slice.keys = std::move(keys);
    return slice;
  }

  // One step of the shard, of the table alone.
  void step(const std::vector<uint64_t>& keys) {
    const RowSlice rows = slice(keys);
    std::vector<float> gradients;
    for (size_t i = 0; i < keys.size() * 3; ++i) gradients.push_back(static_cast<float>(random_.uniform()));
    const Contribution contribution{&rows, gradients.data(), 0, 1};
    TableUpdater(*tables_).apply(0, {&contribution, 1}, {.learning_rate = 0.1, .scale = 1});
  }

  RowBlock decode(const std::string& body, size_t most = 100) {
    ByteReader in(body);
    RowBlock rows;
    decode_stored_rows(in, local_->layout(0), most, rows);
    EXPECT_EQ(in.remaining(), 0u);
    return rows;
  }

  std::optional<Code> refusal(const RowSlice& asked) {
    try {
      stored_rows(tables_->parameters(), {&asked, 1});
    } catch (const Error& error) {
      message_ = error.message();
      return error.code();
    }
    return std::nullopt;
  }

  // The error of a table of rows of so many floats, with the state of this optimizer.
  std::string refusal_of_width(int64_t width, const OptimizerPlan& optimizer) {
    const LocalStore store({synthetic_parameter("deep.weight", ParameterKind::kRows, true, 0, width)},
                           optimizer, UINT64_MAX, device_);
    try {
      check_stored_rows({store.layout(0)});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      return error.message();
    }
    return "";
  }

  Device device_{1, best_cpu_level()};
  Random random_{1, 2};
  std::vector<ParameterSpec> specs_;
  std::unique_ptr<ShardTables> tables_;
  std::unique_ptr<LocalStore> local_;
  std::string message_;
};

// A message of 64 MiB has room for 16777216 floats, less its head, the key and the stamp.
TEST_F(StoredRows, ThatFitIntoNoMessageAreRefusedByTheNameOfTheirParameter) {
  EXPECT_EQ(refusal_of_width((8 << 20) - 6, kMomentum), "");
  EXPECT_THAT(refusal_of_width(8 << 20, kMomentum),
              HasSubstr("a row of 'deep.weight' takes 67108904 bytes with the state of its optimizer"));
  const OptimizerPlan sgd = make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 0.1}}, "mean");
  EXPECT_EQ(refusal_of_width(8 << 20, sgd), "");
}

TEST_F(StoredRows, AreThoseThatThereAreAsTheTableHasThem) {
  step({2, 5, 7});
  step({5});
  const RowSlice asked = slice({1, 2, 5, 6});
  const RowBlock rows = decode(stored_rows(tables_->parameters(), {&asked, 1}));
  EXPECT_THAT(rows.keys, ElementsAre(2, 5));
  EXPECT_THAT(rows.stamps, ElementsAre(1, 2)) << "a row that sat a step out is not brought up to date";
  EXPECT_EQ(rows.values.size(), 2u * 6);
  EXPECT_EQ(decode(stored_rows(tables_->parameters(), {&asked, 1})).values, rows.values)
      << "asking changes nothing";
  local_->put_rows(0, rows);
  RowBlock copies;
  local_->copy_rows(0, std::vector<uint64_t>{2, 5}, copies);
  EXPECT_EQ(copies.values, rows.values);
  EXPECT_EQ(copies.stamps, rows.stamps);
}

TEST_F(StoredRows, AnswersOfSeveralSlicesFollowEachOther) {
  step({1, 2, 3});
  const std::vector<RowSlice> asked = {slice({1, 2}), slice({9}), slice({3})};
  const std::string body = stored_rows(tables_->parameters(), asked);
  ByteReader in(body);
  std::vector<size_t> sizes;
  for (const RowSlice& one : asked) {
    RowBlock rows;
    decode_stored_rows(in, local_->layout(0), one.keys.size(), rows);
    sizes.push_back(rows.size());
  }
  EXPECT_THAT(sizes, ElementsAre(2, 0, 1));
  EXPECT_EQ(in.remaining(), 0u);
}

TEST_F(StoredRows, EveryPrefixAndMoreRowsThanWereAskedForAreRefused) {
  step({1, 2, 3});
  const RowSlice asked = slice({1, 2, 3});
  const std::string body = stored_rows(tables_->parameters(), {&asked, 1});
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_THROW(decode(body.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(decode(body, 2), Error);
  EXPECT_EQ(decode(body, 3).size(), 3u);
}

TEST_F(StoredRows, AreOfSparseParameters) {
  EXPECT_EQ(refusal(slice({1}, 1)), Code::kData);
  EXPECT_EQ(refusal(slice({1}, 7)), Code::kData);
}

TEST_F(StoredRows, MoreThanOneAnswerHoldsIsRefusedBeforeItIsMade) {
  specs_[0].cols = 1 << 20;
  tables_ = std::make_unique<ShardTables>(specs_, kMomentum, ShardPlace());
  EXPECT_EQ(refusal(slice({1, 2, 3, 4, 5, 6, 7, 8, 9})), Code::kData);
  EXPECT_THAT(message_, HasSubstr("more than 16.0 MiB"));
}

// Requests are key slices with nothing behind them.
TEST_F(StoredRows, ARequestIsReadAsItWasWritten) {
  std::string parts;
  encode_key_slice(0, std::vector<uint64_t>{3, 4, 1000}, parts);
  const std::string body = encode_row_slices(1, parts);
  const std::vector<RowSlice> slices = decode_stored_rows_request({body.data(), body.size()});
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_THAT(slices[0].keys, ElementsAre(3, 4, 1000));
  const std::string longer = body + '\0';
  EXPECT_THROW(decode_stored_rows_request({longer.data(), longer.size()}), Error);
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_THROW(decode_stored_rows_request({body.data(), size}), Error) << size;
  }
}

// ---- on their way back

class ReturnedRowsTest : public StoredRows {
 protected:
  // Rows of the shard, with other values, as after so many more steps.
  std::string returned(const std::vector<uint64_t>& keys, uint32_t more_steps, uint32_t parameter = 0) {
    const RowSlice asked = slice(keys);
    RowBlock rows = decode(stored_rows(tables_->parameters(), {&asked, 1}));
    for (float& value : rows.values) value += 1;
    for (uint32_t& stamp : rows.stamps) stamp += more_steps;
    return encode_returned_rows({7, {{parameter, rows}}});
  }

  ReturnedRows decoded(std::string_view body) {
    return decode_returned(tables_->parameters(), body, counters_);
  }

  std::optional<Code> refusal(const std::string& body) {
    try {
      decoded(body);
    } catch (const Error& error) {
      message_ = error.message();
      return error.code();
    }
    return std::nullopt;
  }

  ShardCounters counters_;
};

TEST_F(ReturnedRowsTest, AreThenThoseOfTheTable) {
  step({2, 5, 7});
  step({5});
  const ReturnedRows rows = decoded(returned({2, 5}, 1));
  EXPECT_EQ(rows.number, 7u);
  ASSERT_EQ(rows.slices.size(), 1u);
  put_rows(tables_->parameters(), rows.slices[0], tables_->device());
  const RowSlice asked = slice({2, 5, 7});
  const RowBlock after = decode(stored_rows(tables_->parameters(), {&asked, 1}));
  EXPECT_THAT(after.stamps, ElementsAre(2, 3, 1));
  EXPECT_TRUE(
      std::equal(rows.slices[0].rows.values.begin(), rows.slices[0].rows.values.end(), after.values.begin()));
}

TEST_F(ReturnedRowsTest, NewRowsAreMade) {
  step({2});
  RowBlock rows{.keys = {9}, .values = {1, 2, 3, 4, 5, 6}, .stamps = {1}, .statistics = {}};
  const ReturnedRows returned = decoded(encode_returned_rows({1, {{0, rows}}}));
  put_rows(tables_->parameters(), returned.slices[0], tables_->device());
  const RowSlice asked = slice({9});
  EXPECT_EQ(decode(stored_rows(tables_->parameters(), {&asked, 1})).values, rows.values);
}

TEST_F(ReturnedRowsTest, EveryPrefixAndWhatFollowsIsRefused) {
  step({1, 2, 3});
  const std::string body = returned({1, 3}, 1);
  EXPECT_EQ(refusal(body), std::nullopt);
  for (size_t size = 0; size < body.size(); ++size)
    EXPECT_EQ(refusal(body.substr(0, size)), Code::kData) << size;
  EXPECT_EQ(refusal(body + "x"), Code::kData);
}

TEST_F(ReturnedRowsTest, AreOfThisShardFiniteAndNotFromTheFuture) {
  step({1, 2, 3});
  EXPECT_EQ(refusal(returned({1}, 1, 1)), Code::kData) << "a matrix has no keys";
  EXPECT_EQ(refusal(returned({1}, 1, 7)), Code::kData) << "there is no such parameter";
  EXPECT_EQ(refusal(returned({1}, 2)), Code::kData);
  EXPECT_THAT(message_, HasSubstr("has seen 3 steps, but the next is step 2"));
  RowBlock rows{.keys = {9}, .values = {1, 2, 3, NAN, 5, 6}, .stamps = {1}, .statistics = {}};
  EXPECT_EQ(refusal(encode_returned_rows({1, {{0, rows}}})), Code::kData);
  EXPECT_THAT(message_, HasSubstr("not finite"));
  EXPECT_EQ(counters_.refused_not_finite, 1u) << "the others are refused for other reasons";
  EXPECT_EQ(refusal(encode_returned_rows({0, {}})), Code::kData) << "messages count from 1";
  EXPECT_EQ(refusal(encode_returned_rows({1, {}})), std::nullopt) << "a message may have no rows";
}

// A table with a policy, whose rows come and go by the counts of keys.
class CountedKeysTest : public ReturnedRowsTest {
 protected:
  CountedKeysTest() { set_policy({}); }

  void set_policy(const RowPolicy& policy) {
    specs_[0].row_policy = policy;
    tables_ = std::make_unique<ShardTables>(specs_, kMomentum, ShardPlace());
  }

  static RowSlice counted(std::vector<uint64_t> keys, uint32_t parameter = 0) {
    RowSlice counted = slice(std::move(keys), parameter);
    counted.counts.assign(counted.keys.size(), {2, 1});
    return counted;
  }

  // Counts keys for the next step, which has no gradients.
  void count(std::vector<uint64_t> keys) {
    const std::string body = encode_returned_rows({1, {}, {counted(std::move(keys))}});
    apply_returned(tables_->parameters(), decoded(body), tables_->device());
  }
  void empty_step() { TableUpdater(*tables_).apply(0, {}, {.learning_rate = 0.1, .scale = 1}); }

  std::vector<uint64_t> absent(std::vector<uint64_t> keys) {
    const RowSlice asked = slice(std::move(keys));
    const std::string body = absent_keys(tables_->parameters(), {&asked, 1}, tables_->device());
    ByteReader in(body);
    std::vector<uint64_t> found;
    decode_keys(in, found);
    EXPECT_EQ(in.remaining(), 0u);
    return found;
  }

  std::vector<RowHistory> histories(std::vector<uint64_t> keys) {
    RowBlock rows;
    tables_->parameters().table(0)->copy_rows(keys, rows);
    std::vector<RowHistory> all;
    const size_t floats = rows.statistics.size() / std::max<size_t>(1, rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
      all.push_back(RowLayout::to_history(&rows.statistics[floats * i]));
    EXPECT_EQ(all.size(), keys.size());
    return all;
  }

  RowBlock stored(std::vector<uint64_t> keys) {
    const RowSlice asked = slice(std::move(keys));
    return decode(stored_rows(tables_->parameters(), {&asked, 1}));
  }
};

TEST_F(CountedKeysTest, TheNextStepMakesTheirRowsAndCountsThem) {
  count({1, 2});
  count({7});
  EXPECT_THAT(absent({1, 2, 3, 7}), ElementsAre(1, 2, 3, 7));
  empty_step();
  EXPECT_THAT(absent({1, 2, 3, 7}), ElementsAre(3));
  EXPECT_THAT(histories({1, 2, 7}), Each(RowHistory{2, 1, 0}));
  empty_step();
  EXPECT_EQ(tables_->parameters().table(0)->size(), 3u) << "they are counted once";
}

TEST_F(CountedKeysTest, KeysThatComeAgainAreCountedOnce) {
  count({1, 5});
  count({3, 5});
  EXPECT_EQ(tables_->memory_bytes() - ShardTables(specs_, kMomentum, ShardPlace()).memory_bytes(),
            3 * (sizeof(uint64_t) + sizeof(KeyCount) + tables_->parameters().table(0)->new_row_bytes()));
  empty_step();
  EXPECT_THAT(histories({1, 3, 5}), Each(RowHistory{2, 1, 0}));
}

TEST_F(CountedKeysTest, KeysOfAnotherProcessAreForgotten) {
  count({1});
  tables_->forget_held_counts();
  count({3});
  empty_step();
  EXPECT_THAT(absent({1, 3}), ElementsAre(1));
}

TEST_F(CountedKeysTest, ARowThatComesBeforeTheStepThatMakesItKeepsItsValues) {
  const RowBlock early{
      .keys = {4, 9}, .values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, .stamps = {1, 1}, .statistics = {}};
  count({4});
  const std::string body = encode_returned_rows({2, {{0, early}}});
  apply_returned(tables_->parameters(), decoded(body), tables_->device());
  EXPECT_THAT(stored({4, 9}).values, ElementsAre(1, 2, 3, 4, 5, 6))
      << "it is given back too; the other is not held";
  EXPECT_THAT(absent({4, 9}), ElementsAre(4, 9));
  std::string state, again;
  tables_->parameters().table(0)->policy()->save(state);
  ByteReader in(state);
  set_policy({});
  tables_->parameters().table(0)->policy()->load(in, [](uint32_t) { return true; });
  EXPECT_TRUE(in.ok() && in.remaining() == 0);
  tables_->parameters().table(0)->policy()->save(again);
  EXPECT_EQ(state, again) << "a snapshot between has both";
  empty_step();
  const RowBlock made = stored({4, 9});
  EXPECT_THAT(made.keys, ElementsAre(4)) << "the step does not make the other";
  EXPECT_THAT(made.values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(made.stamps, ElementsAre(1));
}

TEST_F(CountedKeysTest, RowsThatCameTooLateAreDropped) {
  RowPolicy policy;
  policy.admission.emplace().count = 5;
  set_policy(policy);
  const RowBlock late{.keys = {4}, .values = {1, 2, 3, 4, 5, 6}, .stamps = {1}, .statistics = {}};
  const std::string body = encode_returned_rows({2, {{0, late}}});
  apply_returned(tables_->parameters(), decoded(body), tables_->device());
  EXPECT_EQ(stored({4}).size(), 0u);
  for (int step = 0; step < 3; ++step) count({4}), empty_step();
  EXPECT_THAT(absent({4}), ElementsAre()) << "three steps have counted to six";
}

TEST_F(CountedKeysTest, AreOfParametersWithAPolicyAndHaveCounts) {
  EXPECT_EQ(refusal(encode_returned_rows({1, {}, {counted({1, 2})}})), std::nullopt);
  EXPECT_EQ(refusal(encode_returned_rows({1, {}, {counted({1}, 1)}})), Code::kData) << "a matrix has no keys";
  EXPECT_EQ(refusal(encode_returned_rows({1, {}, {counted({1}, 9)}})), Code::kData) << "no such parameter";
  std::string keys_alone;
  encode_key_slice(0, std::vector<uint64_t>{3}, keys_alone);
  EXPECT_EQ(refusal(encode_returned_rows({1, {}}) + encode_row_slices(1, keys_alone)), Code::kData);
  EXPECT_THAT(message_, HasSubstr("without counts"));
  specs_[0].row_policy.reset();
  tables_ = std::make_unique<ShardTables>(specs_, kMomentum, ShardPlace());
  EXPECT_EQ(refusal(encode_returned_rows({1, {}, {counted({1})}})), Code::kData);
  EXPECT_THAT(message_, HasSubstr("has no policy"));
}

}  // namespace
}  // namespace ps::stored_rows_test
