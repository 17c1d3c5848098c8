#include "job/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "data/part.h"

namespace ps {
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

TEST(Sweep, HasAllCombinationsWithAllFolds) {
  const std::vector<SweptKey> keys = {{"a", {"1", "2"}}, {"b", {"x", "y"}}};
  const std::vector<SweepRun> runs = sweep_runs(keys, 2);
  ASSERT_EQ(runs.size(), 8u);
  EXPECT_THAT(runs[0].values, ElementsAre(Pair("a", "1"), Pair("b", "x")));
  EXPECT_EQ(runs[1].fold, 1);
  EXPECT_THAT(runs[3].values, ElementsAre(Pair("a", "1"), Pair("b", "y")));
  EXPECT_THAT(runs[7].values, ElementsAre(Pair("a", "2"), Pair("b", "y")));
  const std::vector<SweptKey> twice = {{"a", {"1"}}, {"a", {"2"}}},
                              many(5, {"a", std::vector<std::string>(10)});
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
      const bool validates = PartFilter(options).keeps(std::to_string(line));
      options.part = DataPart::kTraining;
      EXPECT_NE(PartFilter(options).keeps(std::to_string(line)), validates);
      here += validates;
      kept[fold] += validates;
    }
    EXPECT_EQ(here, 1) << line;
  }
  for (const int lines : kept) EXPECT_NEAR(lines, kLines / kFolds, 150);
}

}  // namespace
}  // namespace ps
