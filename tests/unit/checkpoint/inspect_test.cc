#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "base/random.h"
#include "checkpoint/inspect/quantiles.h"
#include "checkpoint/inspect/report.h"
#include "config/json.h"
#include "support/thrown_error.h"

namespace ps::inspect_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A model in memory, whose cursors give blocks of three rows.
class MemoryModel final : public ModelSource {
 public:
  void add(const ModelTable& table, std::vector<uint64_t> keys, std::vector<float> values) {
    tables_.push_back(table);
    tables_.back().count = keys.size();
    rows_.push_back({std::move(keys), std::move(values)});
  }

  const std::vector<ModelTable>& tables() const override { return tables_; }
  std::unique_ptr<RowCursor> rows(size_t table) override {
    ++passes_;
    return std::make_unique<Cursor>(rows_[table], static_cast<size_t>(tables_[table].values()));
  }
  bool knows_untrained_rows(size_t) const override { return true; }
  void untrained_row(size_t table, uint64_t, float* weights) override {
    std::fill_n(weights, tables_[table].width, 0.5f);
  }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  int index_base() const override { return 0; }

  const std::vector<float>& values(size_t table) const { return rows_[table].values; }
  int passes() const { return passes_; }

 private:
  struct Rows {
    std::vector<uint64_t> keys;
    std::vector<float> values;
  };

  class Cursor final : public RowCursor {
   public:
    Cursor(const Rows& rows, size_t width) : rows_(rows), width_(width) {}
    const RowBlock* next() override {
      const size_t size = std::min<size_t>(3, rows_.keys.size() - at_);
      if (size == 0) return nullptr;
      block_.clear();
      for (size_t i = at_; i < at_ + size; ++i) block_.keys.push_back(rows_.keys[i]);
      const float* values = rows_.values.data();
      block_.values.assign(values + at_ * width_, values + (at_ + size) * width_);
      at_ += size;
      return &block_;
    }

   private:
    const Rows& rows_;
    const size_t width_;
    size_t at_ = 0;
    RowBlock block_;
  };

  std::vector<ModelTable> tables_;
  std::vector<Rows> rows_;
  std::map<std::string, std::string> metadata_;
  int passes_ = 0;
};

// words.weight [7 of 100, 2], sparse, with names; bias [1, 1].
class InspectTest : public testing::Test {
 protected:
  InspectTest() {
    model_.add({.name = "words.weight", .sparse = true, .rows = 100, .width = 2}, {2, 3, 5, 7, 11, 13, 17},
               {1, 0, 2, 0.5f, -1, 0, 0, 3, 0, 0, 0.5f, 0.5f, 3, 1});
    model_.add({.name = "bias", .rows = 1, .width = 1}, {0}, {-3});
    names_.add("words.weight",
               std::make_shared<NameList>(
                   std::vector<std::pair<uint64_t, std::string>>{{2, "king"}, {3, "queen"}, {7, "two words"}},
                   std::vector<NameList::Hashed>{{"city=", 5}}));
  }

  std::vector<uint64_t> nearest(const std::string& row, Metric metric, size_t count) {
    std::vector<uint64_t> keys;
    const Json tables = nearest_rows(model_, names_, row, metric, count);
    for (const Json& one : tables[0]["nearest"]) keys.push_back(one["key"].get<uint64_t>());
    return keys;
  }

  MemoryModel model_;
  RowNames names_;
};

TEST_F(InspectTest, LargestWeightsAreOfAllTablesAndTiesComeInOrder) {
  const Json top = largest_weights(model_, names_, 4);
  ASSERT_EQ(top.size(), 4u);
  EXPECT_EQ(top[0].dump(), R"({"table":"words.weight","key":7,"name":"two words","column":1,"weight":3.0})");
  EXPECT_EQ(top[1].dump(), R"({"table":"words.weight","key":17,"column":0,"weight":3.0})");
  EXPECT_EQ(top[2].dump(), R"({"table":"bias","key":0,"column":0,"weight":-3.0})");
  EXPECT_EQ(top[3]["name"], "queen");
  EXPECT_EQ(largest_weights(model_, names_, 100).size(), 15u);
  EXPECT_THAT(largest_weights_text(top), HasSubstr("    -3  bias            0       0\n"));
}

TEST_F(InspectTest, RowIsFoundByKeyAndByName) {
  EXPECT_EQ(find_row(model_, names_, "queen").dump(),
            R"([{"table":"words.weight","key":3,"name":"queen","weights":[2.0,0.5]}])");
  EXPECT_EQ(find_row(model_, names_, "3"), find_row(model_, names_, "queen"));
  EXPECT_EQ(row_text(find_row(model_, names_, "0")), "bias 0: -3\n");
}

TEST_F(InspectTest, RowWithStateShowsItsArrays) {
  MemoryModel model;
  model.add({.name = "t", .sparse = true, .width = 2, .state_arrays = 2}, {4, 9},
            {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Json row = find_row(model, {}, "9");
  EXPECT_EQ(row[0]["weights"], Json({7, 8}));
  EXPECT_EQ(row[0]["state"], Json({{9, 10}, {11, 12}}));
  EXPECT_EQ(row_text(row), "t 9: 7 8\n  state 0: 9 10\n  state 1: 11 12\n");
}

TEST_F(InspectTest, NameThatIsHashedIsFound) {
  const uint64_t key = hash_bytes("Oslo", 5);
  MemoryModel model;
  model.add({.name = "words.weight", .sparse = true, .width = 1}, {key}, {4});
  EXPECT_EQ(find_row(model, names_, "city=Oslo")[0]["key"], key);
}

TEST_F(InspectTest, RowThatIsNotThereIsRefusedWithTheTables) {
  auto refused = [&](const std::string& row, const RowNames& names) {
    return error_of([&] { find_row(model_, names, row); }, Code::kUsage);
  };
  EXPECT_THAT(refused("4", names_), HasSubstr("no row 4 in words.weight, bias: "));
  EXPECT_THAT(refused("18", names_), HasSubstr("no row 18"));
  EXPECT_THAT(refused("prince", names_), HasSubstr("no row is named 'prince' in words.weight, bias"));
  EXPECT_THAT(refused("king", {}), HasSubstr("--vocabulary"));
}

TEST_F(InspectTest, NearestRowsByEachMetricLeaveTheRowItselfOut) {
  EXPECT_THAT(nearest("king", Metric::kCosine, 3), ElementsAre(3, 17, 13));
  EXPECT_THAT(nearest("king", Metric::kDot, 3), ElementsAre(17, 3, 13));
  EXPECT_THAT(nearest("king", Metric::kL2, 3), ElementsAre(13, 11, 3));
  EXPECT_THAT(nearest("king", Metric::kCosine, 100), ElementsAre(3, 17, 13, 7, 11, 5));
  const Json table = nearest_rows(model_, names_, "2", Metric::kCosine, 1);
  EXPECT_NEAR(table[0]["nearest"][0]["value"], 2 / std::sqrt(4.25), 1e-12);
  EXPECT_EQ(nearest_text(table), "words.weight 2 (king):\n  0.970143  3 (queen)\n");
}

TEST_F(InspectTest, StatisticsCountRowsThatWereNeverUpdated) {
  const Json tables = model_statistics(model_);
  EXPECT_EQ(tables[0]["rows"], 7);
  EXPECT_EQ(tables[0]["never_updated"], 93);
  EXPECT_EQ(tables[0]["zeros"], 5);
  EXPECT_NEAR(tables[0]["mean"], 10.5 / 14, 1e-12);
  EXPECT_EQ(tables[0]["weights"]["p50"], 0.5);
  EXPECT_EQ(tables[0]["weights"]["min"], -1);
  EXPECT_EQ(tables[0]["row_norms"]["max"], std::sqrt(10.0f));
  EXPECT_EQ(tables[1]["never_updated"], 0);
  EXPECT_EQ(model_.passes(), 4);

  MemoryModel dense;
  dense.add({.name = "d", .rows = 3, .width = 1}, {0, 1, 2}, {0.5f, 1, 0.5f});
  EXPECT_EQ(model_statistics(dense)[0]["never_updated"], 2);
}

TEST_F(InspectTest, WeightsThatAreNoNumbersAreCountedAndElsewhereRefused) {
  MemoryModel model;
  model.add({.name = "t", .rows = 3, .width = 1}, {0, 1, 2},
            {std::numeric_limits<float>::quiet_NaN(), 2, std::numeric_limits<float>::infinity()});
  const Json table = model_statistics(model)[0];
  EXPECT_EQ(table["not_finite"], 2);
  EXPECT_EQ(table["mean"], 2);
  EXPECT_EQ(table["weights"]["max"], 2);
  EXPECT_THAT(error_of([&] { largest_weights(model, {}, 3); }, Code::kData), HasSubstr("not finite"));
  EXPECT_THAT(error_of([&] { nearest_rows(model, {}, "1", Metric::kDot, 3); }, Code::kData),
              HasSubstr("not finite"));
}

TEST_F(InspectTest, EmptyTableHasNoFigures) {
  MemoryModel model;
  model.add({.name = "t", .sparse = true, .width = 2}, {}, {});
  const Json table = model_statistics(model)[0];
  EXPECT_EQ(table["rows"], 0);
  EXPECT_TRUE(table["never_updated"].is_null());
  EXPECT_FALSE(table.contains("weights"));
  EXPECT_THAT(statistics_text(model_statistics(model)), HasSubstr("\nt "));
  EXPECT_TRUE(largest_weights(model, {}, 3).empty());
}

TEST(QuantilesTest, AreThoseOfTheSortedNumbers) {
  const std::vector<double> wanted = {0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.999, 1};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, 0);
    std::vector<float> numbers(1 + seed * seed * 7);
    for (size_t i = 0; i < numbers.size(); ++i) {
      // Many magnitudes, both signs, and some numbers that occur often.
      const float number = std::ldexp(unit_float(random.next32()) - 0.5f, static_cast<int>(i % 60) - 30);
      numbers[i] = i % 5 == 0 ? std::copysign(0.0f, number) : number;
    }
    Quantiles quantiles(wanted);
    for (float number : numbers) quantiles.add(number);
    quantiles.begin_second();
    std::reverse(numbers.begin(), numbers.end());
    for (float number : numbers) quantiles.add_again(number);
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double place = std::ceil(wanted[i] * static_cast<double>(numbers.size()));
      EXPECT_EQ(quantiles.value(i), numbers[static_cast<size_t>(std::max(place, 1.0)) - 1])
          << "seed " << seed << ", quantile " << wanted[i];
    }
  }
}

TEST(RowNamesTest, WordHasNoBlanks) {
  RowNames names;
  names.add("t", std::make_shared<NameList>(
                     std::vector<std::pair<uint64_t, std::string>>{{1, "pilot officer"}, {2, "x\ty\n"}}));
  EXPECT_EQ(names.word("t", 1), "pilot_officer");
  EXPECT_EQ(names.word("t", 2), "x_y_");
  EXPECT_EQ(names.word("t", 3), "3");
  EXPECT_EQ(names.word("other", 1), "1");
}

}  // namespace
}  // namespace ps::inspect_test
