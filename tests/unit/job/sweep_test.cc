#include "job/tuning/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "data/part.h"

namespace ps::sweep_test {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Json tested(double cost, double auc) {
  return {{"samples", 1}, {"cost", cost}, {"evaluators", {{"auc", auc}}}};
}

SweepRow row(const std::string& rate, std::vector<Json> folds) {
  SweepRow out;
  out.values = {{"optimizer.learning_rate", rate}};
  for (Json& fold : folds) out.folds.push_back({"validation", std::move(fold)});
  out.models.assign(out.folds.size(), "m");
  return out;
}

TEST(Sweep, ValuesAreSeparatedByCommasOutsideOfBrackets) {
  const SweptKey key = parse_swept_key(R"(a.b=0.1,[1, 2],{"x": [3, 4]},"y,z",)");
  EXPECT_EQ(key.key, "a.b");
  EXPECT_THAT(key.values, ElementsAre("0.1", "[1, 2]", R"({"x": [3, 4]})", R"("y,z")", ""));
  EXPECT_THROW(parse_swept_key("a"), Error);
  EXPECT_THROW(parse_swept_key("=1"), Error);
}

std::string error_of(const std::string& swept) {
  try {
    parse_swept_key(swept);
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

TEST(Sweep, ARangeIsOfNumbersTheirLogarithmsOrWholeNumbers) {
  const SweptKey rate = parse_swept_key("r=log:1e-4..1e-1");
  ASSERT_TRUE(rate.range);
  EXPECT_THAT(rate.values, testing::IsEmpty());
  EXPECT_EQ(rate.range->at(0), "0.0001");
  EXPECT_EQ(rate.range->at(1.0 / 3), "0.001");
  EXPECT_EQ(rate.range->at(0.5), "0.00316228");
  const SweptRange linear = parse_swept_key("r=linear:-1..3").range.value();
  EXPECT_EQ(linear.at(0.25), "0");
  const SweptRange whole = parse_swept_key("r=int:1..3").range.value();
  EXPECT_EQ(whole.at(0), "1");
  EXPECT_EQ(whole.at(0.34), "2");
  EXPECT_EQ(whole.at(0.999), "3");
  EXPECT_EQ(parse_swept_key("r=int:1000000..1000000").range->at(0.5), "1000000");
  EXPECT_FALSE(parse_swept_key("path=log:file").range) << "no dots";
  EXPECT_FALSE(parse_swept_key("r=log:1..2,3").range) << "one of several values";
  EXPECT_THAT(error_of("r=log:0..1"), HasSubstr("'log:0..1': 0 has no logarithm"));
  EXPECT_THAT(error_of("r=log:2..1"), HasSubstr("expected log:LOW..HIGH"));
  EXPECT_THAT(error_of("r=linear:x..1"), HasSubstr("expected linear:LOW..HIGH"));
  EXPECT_THAT(error_of("r=int:1..2.5"), HasSubstr("no whole numbers"));
}

TEST(Sweep, DrawsValuesFromTheSeedAlone) {
  const std::vector<SweptKey> keys = {parse_swept_key("rate=log:1e-4..1"), parse_swept_key("size=8,16,32")};
  const std::vector<SweepRun> few = sampled_runs(keys, 3, 7, 2), many = sampled_runs(keys, 2000, 7, 1),
                              others = sampled_runs(keys, 2000, 8, 1);
  ASSERT_EQ(few.size(), 6u);
  EXPECT_EQ(few[0].values, few[1].values) << "two folds of one combination";
  EXPECT_EQ(few[1].fold, 1);
  int below = 0, different = 0;
  std::map<std::string, int> sizes;
  for (size_t i = 0; i < many.size(); ++i) {
    if (i < 3) {
      EXPECT_EQ(many[i].values, few[2 * i].values) << "more begin with the same";
    }
    const double rate = std::stod(many[i].values[0].second);
    EXPECT_TRUE(rate >= 1e-4 && rate <= 1) << rate;
    below += rate < 1e-2;
    different += many[i].values != others[i].values;
    ++sizes[many[i].values[1].second];
  }
  EXPECT_NEAR(below, 1000, 100) << "half of the logarithms";
  EXPECT_GT(different, 1900);
  EXPECT_THAT(sizes, testing::SizeIs(3));
  for (const auto& [size, count] : sizes) EXPECT_NEAR(count, 2000 / 3, 100) << size;
  EXPECT_THROW(sweep_runs(keys, 1), Error) << "a range has no values to go through";
}

TEST(Sweep, HalvesDownToTheLastOrToOnePass) {
  auto rounds = [](size_t combinations, int64_t passes) {
    std::string text;
    for (const HalvingRound& round : halving_rounds(combinations, passes))
      text += cat(round.combinations, "x", round.passes, " ");
    return text;
  };
  EXPECT_EQ(rounds(8, 8), "8x1 4x2 2x4 1x8 ");
  EXPECT_EQ(rounds(9, 20), "9x1 5x2 3x5 2x10 1x20 ");
  EXPECT_EQ(rounds(100, 4), "100x1 50x2 25x4 ");
  EXPECT_EQ(rounds(3, 100), "3x25 2x50 1x100 ");
  EXPECT_EQ(rounds(2, 3), "2x1 1x3 ");
  EXPECT_THROW(halving_rounds(1, 8), Error);
  EXPECT_THROW(halving_rounds(8, 1), Error);
}

TEST(Sweep, TheBestIsOneOfThoseThatWereTrainedLongest) {
  std::vector<SweepRow> rows = {row("1", {tested(1, 0.9)}), row("2", {tested(3, 0.7)}),
                                row("3", {tested(2, 0.8)})};
  rows[0].passes = 1;
  rows[1].passes = rows[2].passes = 4;
  EXPECT_THAT(rank_rows(rows, "cost"), ElementsAre(0, 2, 1));
  EXPECT_THAT(rank_rows(rows, "auc"), ElementsAre(0, 2, 1));
  const Json result = sweep_result(rows, "auc");
  EXPECT_EQ(result["best"], 2);
  EXPECT_EQ(result["runs"][2]["set"]["train.passes"], "4");
  Json undefined = tested(1, 0);
  undefined["evaluators"]["auc"] = nullptr;
  rows.insert(rows.begin(), row("0", {undefined}));
  EXPECT_THAT(rank_rows(rows, "auc"), ElementsAre(1, 3, 2, 0));
}

TEST(Sweep, HasAllCombinationsWithAllFolds) {
  const std::vector<SweptKey> keys = {{"a", {"1", "2"}, {}}, {"b", {"x", "y"}, {}}};
  const std::vector<SweepRun> runs = sweep_runs(keys, 2);
  ASSERT_EQ(runs.size(), 8u);
  EXPECT_THAT(runs[0].values, ElementsAre(Pair("a", "1"), Pair("b", "x")));
  EXPECT_EQ(runs[1].fold, 1);
  EXPECT_THAT(runs[3].values, ElementsAre(Pair("a", "1"), Pair("b", "y")));
  EXPECT_THAT(runs[7].values, ElementsAre(Pair("a", "2"), Pair("b", "y")));
  const std::vector<SweptKey> twice = {{"a", {"1"}, {}}, {"a", {"2"}, {}}},
                              many(5, {"a", std::vector<std::string>(10), {}});
  EXPECT_THROW(sweep_runs(twice, 1), Error);
  std::vector<SweptKey> differ = many;
  for (size_t i = 0; i < differ.size(); ++i) differ[i].key += std::to_string(i);
  EXPECT_THROW(sweep_runs(differ, 1), Error);
}

TEST(Sweep, TakesTheFiguresOfTheBestPassElseOfTheTestElseOfTheTraining) {
  Json result = {
      {"passes",
       {{{"pass", 0}, {"avg_cost", 3}, {"evaluators", Json::object()}, {"validation", tested(5, 0.5)}},
        {{"pass", 1}, {"avg_cost", 2}, {"evaluators", Json::object()}, {"validation", tested(6, 0.4)}}}}};
  EXPECT_EQ(sweep_figures(result).figures["cost"], 2);
  EXPECT_EQ(sweep_figures(result).data, "training");
  result["test"] = tested(4, 0.7);
  EXPECT_EQ(sweep_figures(result).figures["cost"], 4);
  result["best"] = {{"pass", 0}, {"cost", 5}};
  EXPECT_EQ(sweep_figures(result).figures["cost"], 5);
  EXPECT_EQ(sweep_figures(result).data, "validation");
  EXPECT_THROW(sweep_figures({{"passes", Json::array()}}), Error);
}

TEST(Sweep, MarksTheBestMeanAndGivesTheDeviationOfFolds) {
  const std::vector<SweepRow> rows = {row("0.1", {tested(1, 0.5), tested(3, 0.75)}),
                                      row("0.2", {tested(1, 0.5), tested(2, 0.5)})};
  const Json by_cost = sweep_result(rows, "cost"), by_auc = sweep_result(rows, "auc");
  EXPECT_EQ(by_cost["best"], 1);
  EXPECT_EQ(by_auc["best"], 0);
  EXPECT_EQ(by_cost["runs"][0]["cost"], 2);
  EXPECT_EQ(by_cost["runs"][0]["auc"], 0.625);
  EXPECT_THAT(by_cost["runs"][0]["deviation"]["cost"].get<double>(), DoubleEq(std::sqrt(2.0)));
  EXPECT_EQ(sweep_table(by_cost),
            "   optimizer.learning_rate  cost         auc\n"
            "                       0.1  2 +- 1.4     0.625 +- 0.18\n"
            "*                      0.2  1.5 +- 0.71  0.5 +- 0\n");
}

TEST(Sweep, HasNoBestOfWhatIsUndefinedAndRefusesMeasuresThatAreNotThere) {
  Json undefined = tested(1, 0);
  undefined["evaluators"]["auc"] = nullptr;
  const std::vector<SweepRow> rows = {row("1", {undefined})};
  const Json result = sweep_result(rows, "auc");
  EXPECT_FALSE(result.contains("best"));
  EXPECT_THAT(sweep_table(result), HasSubstr("undefined"));
  EXPECT_EQ(sweep_result(std::vector{row("1", {undefined}), row("2", {tested(1, 0.1)})}, "auc")["best"], 1);
  EXPECT_THROW(sweep_result(rows, "rmse"), Error);
  EXPECT_THROW(sweep_result(rows, "calibration"), Error);
}

TEST(Folds, ShareOutTheLines) {
  constexpr int kFolds = 3, kLines = 3000;
  int kept[kFolds] = {};
  for (int line = 0; line < kLines; ++line) {
    int here = 0;
    for (int fold = 0; fold < kFolds; ++fold) {
      DataOptions options;
      options.validation = 1.0 / kFolds;
      options.fold = fold;
      options.part = DataPart::kValidation;
      const bool validates = PartFilter(options).keeps_line(std::to_string(line));
      options.part = DataPart::kTraining;
      EXPECT_NE(PartFilter(options).keeps_line(std::to_string(line)), validates);
      here += validates;
      kept[fold] += validates;
    }
    EXPECT_EQ(here, 1) << line;
  }
  for (const int lines : kept) EXPECT_NEAR(lines, kLines / kFolds, 150);
}

}  // namespace
}  // namespace ps::sweep_test
