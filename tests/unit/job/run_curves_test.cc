#include "job/run_curves.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace ps::run_curves_test {
namespace {

Json batch(int pass, int64_t samples, double cost, double seconds) {
  return {{"event", "batch"},
          {"pass", pass},
          {"samples", samples},
          {"current_cost", cost},
          {"avg_cost", cost},
          {"learning_rate", 0.1},
          {"evaluators", {{"auc", 0.7}, {"label_1_as_0", 0.2}}},
          {"seconds", seconds}};
}

Json points(const RunCurves& curves, const std::string& name) {
  const Json json = curves.json();
  for (const Json& curve : json["curves"]) {
    if (curve["name"] == name) return curve["points"];
  }
  return nullptr;
}

TEST(BoundedCurveTest, ItShowsTheWholeRunWithSoManyPoints) {
  for (const int64_t added : {1, 2, 999, 1000, 1001, 1002, 2000, 2001, 4001, 123'457}) {
    BoundedCurve curve;
    for (int64_t i = 0; i < added; ++i) curve.add(static_cast<double>(i), static_cast<double>(2 * i));
    const auto all = curve.points();
    ASSERT_LE(all.size(), BoundedCurve::kMostPoints + 1) << added;
    ASSERT_GE(all.size(), std::min<size_t>(static_cast<size_t>(added), BoundedCurve::kMostPoints / 2))
        << added;
    EXPECT_EQ(all.front().first, 0);
    EXPECT_EQ(all.back().first, static_cast<double>(added - 1)) << "the latest";
    const double step = all.size() > 1 ? all[1].first : 0;
    for (size_t i = 0; i + 1 < all.size(); ++i)
      EXPECT_EQ(all[i].first, step * static_cast<double>(i)) << added;
    for (const auto& [x, y] : all) EXPECT_EQ(y, 2 * x);
  }
}

TEST(RunCurvesTest, PassesComeOneAfterAnother) {
  RunCurves curves;
  curves.add(batch(0, 100, 0.5, 1));
  curves.add(batch(0, 300, 0.4, 2));
  Json pass = batch(0, 400, 0.45, 4);
  pass["event"] = "pass";
  curves.add(pass);
  curves.add(
      {{"event", "test"}, {"pass", 0}, {"samples", 50}, {"cost", 0.6}, {"evaluators", {{"auc", nullptr}}}});
  curves.add(batch(1, 100, 0.3, 0.5));
  EXPECT_EQ(points(curves, "training"), Json::parse("[[100, 0.5], [300, 0.4], [500, 0.3]]"));
  EXPECT_EQ(points(curves, "training, mean of the pass"), Json::parse("[[400, 0.45]]"));
  EXPECT_EQ(points(curves, "test"), Json::parse("[[400, 0.6]]"));
  EXPECT_EQ(points(curves, "examples a second"),
            Json::parse("[[100, 100], [300, 200], [400, 50], [500, 200]]"));
  EXPECT_EQ(points(curves, "auc, training").size(), 4);
  EXPECT_TRUE(points(curves, "auc, test").is_null()) << "undefined";
  EXPECT_TRUE(points(curves, "label_1_as_0, training").is_null()) << "a cell of a matrix";
  EXPECT_EQ(curves.json()["trained"], 500);
  EXPECT_EQ(curves.json()["pass"], 1);
}

TEST(RunCurvesTest, SoManyCurvesAndNoMore) {
  RunCurves curves;
  Json report = batch(0, 100, 0.5, 1);
  for (int i = 0; i < 1000; ++i) report["evaluators"][cat("recall_at_", i)] = 0.5;
  curves.add(report);
  EXPECT_EQ(curves.json()["curves"].size(), RunCurves::kMostCurves);
}

TEST(RunCurvesTest, OtherReportsAreNoPoints) {
  RunCurves curves;
  curves.add({{"event", "progressive"}, {"pass", 0}, {"samples", 64}, {"avg_cost", 0.5}});
  EXPECT_TRUE(curves.json()["curves"].empty());
}

}  // namespace
}  // namespace ps::run_curves_test
