#include "train/early_stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace ps::early_stopping_test {
namespace {

using testing::HasSubstr;

TrainOptions options(const std::string& measure, std::optional<int> patience = std::nullopt) {
  TrainOptions out;
  out.best_by = measure;
  out.patience = patience;
  return out;
}

Json measured(double cost, Json auc = Json()) {
  return {{"cost", cost}, {"evaluators", {{"auc", auc}}}};
}

TEST(EarlyStoppingTest, TheBestPassHasTheLeastCost) {
  EarlyStopping best(options("cost"));
  EXPECT_EQ(best.best_pass(), -1);
  EXPECT_TRUE(best.add(0, measured(0.5)));
  EXPECT_TRUE(best.add(1, measured(0.4)));
  EXPECT_FALSE(best.add(2, measured(0.4))) << "no better";
  EXPECT_FALSE(best.add(3, measured(0.6)));
  EXPECT_EQ(best.best_pass(), 1);
  EXPECT_EQ(best.best(), 0.4);
  EXPECT_FALSE(best.stops()) << "without patience it never ends";
}

TEST(EarlyStoppingTest, OfAnAucMoreIsBetterAndAnUndefinedOneIsNone) {
  EarlyStopping best(options("auc"));
  EXPECT_FALSE(best.add(0, measured(0.5, Json())));
  EXPECT_TRUE(best.add(1, measured(0.5, 0.7)));
  EXPECT_FALSE(best.add(2, measured(0.1, 0.6)));
  EXPECT_FALSE(best.add(3, measured(0.1, Json())));
  EXPECT_TRUE(best.add(4, measured(0.9, 0.8)));
  EXPECT_EQ(best.best_pass(), 4);
}

TEST(EarlyStoppingTest, ItStopsAfterSoManyPassesInARow) {
  EarlyStopping best(options("cost", 2));
  best.add(0, measured(0.5));
  best.add(1, measured(0.6));
  EXPECT_FALSE(best.stops());
  best.add(2, measured(0.4));
  best.add(3, measured(0.5));
  EXPECT_FALSE(best.stops());
  best.add(4, measured(0.5));
  EXPECT_TRUE(best.stops());
}

// A trainer that hears only the leader's figures decides as the leader does, who has the measures.
TEST(EarlyStoppingTest, FiguresDecideAsTheMeasuresDoThatHaveThem) {
  EarlyStopping leader(options("auc", 2)), other(options("auc", 2));
  const std::vector<Json> aucs = {Json(), 0.6, 0.7, 0.65, Json()};
  for (int pass = 0; pass < 5; ++pass) {
    const Json validation = measured(0.5, aucs[static_cast<size_t>(pass)]);
    EXPECT_EQ(other.add(pass, leader.figure(validation)), leader.add(pass, validation)) << pass;
    EXPECT_EQ(other.stops(), leader.stops()) << pass;
  }
  EXPECT_EQ(other.best_pass(), 2);
  EXPECT_TRUE(other.stops());
}

// A process that comes in the place of another learns from those that have seen more passes, and from no others.
TEST(EarlyStoppingTest, ANewcomerThatLearnsOfThePassesDecidesAsTheOthersDo) {
  EarlyStopping old(options("cost", 2)), newcomer(options("cost", 2)), late(options("cost", 2));
  old.add(0, measured(0.4));
  late.learn(old.known());
  old.add(1, measured(0.5));
  newcomer.learn(old.known());
  newcomer.learn(late.known());
  EXPECT_EQ(newcomer.best_pass(), 0);
  EXPECT_EQ(newcomer.best(), 0.4);
  for (EarlyStopping* each : {&old, &newcomer}) {
    EXPECT_FALSE(each->stops());
    EXPECT_FALSE(each->add(2, measured(0.45)));
    EXPECT_TRUE(each->stops());
  }
  newcomer.learn(EarlyStopping(options("cost", 2)).known());
  EXPECT_EQ(newcomer.known(), old.known());
  for (const char* damaged : {"{}", "3", R"({"pass": 4, "best_pass": 1, "best": null})"})
    EXPECT_THROW(old.learn(parse_json(damaged, "text")), Error) << damaged;
}

// All that evaluators of ranks and of sets of labels report.
TEST(EarlyStoppingTest, MoreIsBetterOfMeasuresOfRanksAndOfSetsOfLabels) {
  for (const char* figure : {"ndcg_at_10", "recall_at_20", "precision_at_1", "precision_at_5", "f1",
                             "micro_f1", "micro_precision", "micro_recall", "gauc", "map", "mrr"}) {
    EarlyStopping best(options(figure, 1));
    auto of = [&](double value) { return Json({{"cost", 0.5}, {"evaluators", {{figure, value}}}}); };
    EXPECT_TRUE(best.add(0, of(0.2))) << figure;
    EXPECT_TRUE(best.add(1, of(0.3))) << figure;
    EXPECT_FALSE(best.add(2, of(0.25))) << figure;
    EXPECT_EQ(best.best_pass(), 1) << figure;
    EXPECT_TRUE(best.stops()) << figure;
  }
}

TEST(EarlyStoppingTest, MeasuresThatTellNothingOrAreNotThereAreRefused) {
  auto refusal = [](auto&& body) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal([] { EarlyStopping best(options("calibration")); }),
              HasSubstr("train.best_by: 'calibration' tells no better"));
  EXPECT_THAT(refusal([] { EarlyStopping best(options("acu")); }), HasSubstr("did you mean 'auc'?"));
  for (const char* named : {"precision_at_K", "recall_at_K", "ndcg_at_K", "micro_f1", "brier_score"}) {
    EXPECT_THAT(refusal([] { EarlyStopping best(options("precision_at_k")); }), HasSubstr(named));
  }
  EXPECT_THAT(refusal([] { EarlyStopping best(options("ndcg_at_")); }), HasSubstr("tells no better"));
  EarlyStopping best(options("accuracy"));
  EXPECT_THAT(refusal([&] { best.add(0, measured(0.5)); }),
              HasSubstr("'accuracy' is no measure of this job"));
}

}  // namespace
}  // namespace ps::early_stopping_test
