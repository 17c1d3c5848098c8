#include "optim/row_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/spec.h"

namespace ps::row_policy_test {
namespace {

using testing::HasSubstr;

RowPolicy policy(const char* text) {
  return RowPolicy::spec().parse(parse_json(text, "rows"), "rows");
}

TEST(RowPolicy, ScoreWeighsShowsWithoutAClickAndClicks) {
  EXPECT_DOUBLE_EQ(policy("{}").score_of({10, 4, 0}), 0.1 * 6 + 4);
  EXPECT_DOUBLE_EQ(policy(R"({"score": {"non_click": 0.5, "click": 3}})").score_of({10, 4, 0}), 15);
}

TEST(RowPolicy, AShrinkDecaysCountsAndAges) {
  const RowHistory once = policy(R"({"decay": 0.5})").aged({8, 3, 0});
  EXPECT_EQ(once, (RowHistory{4, 1.5, 1}));
  EXPECT_EQ(policy("{}").aged({1, 1, RowHistory::kMostUnseen}).unseen, RowHistory::kMostUnseen);
}

TEST(RowPolicy, RowsExpireByAgeOrByScore) {
  const RowPolicy by_age = policy(R"({"expire": {"unseen": 2}})");
  EXPECT_FALSE(by_age.expires({0, 0, 2}));
  EXPECT_TRUE(by_age.expires({100, 100, 3}));
  const RowPolicy by_score = policy(R"({"expire": {"below_score": 0.5}})");
  EXPECT_FALSE(by_score.expires({5, 0, 1000})) << "worth 0.5";
  EXPECT_TRUE(by_score.expires({4.9, 0, 0}));
  EXPECT_FALSE(by_score.expires({0, 0, 0})) << "from a model: never seen";
  EXPECT_FALSE(policy("{}").expires({0.001, 0, 1000000}));
}

TEST(RowPolicy, ShrinksAreCountedInPassesAndSteps) {
  const RowPolicy both = policy(R"({"shrink_passes": 2, "shrink_steps": 10})");
  EXPECT_FALSE(both.shrinks_after_pass(0));
  EXPECT_TRUE(both.shrinks_after_pass(1));
  EXPECT_FALSE(both.shrinks_after_step(9));
  EXPECT_TRUE(both.shrinks_after_step(20));
  EXPECT_TRUE(policy("{}").shrinks_after_pass(0));
  EXPECT_FALSE(policy(R"({"shrink_passes": 0})").shrinks_after_pass(0));
  EXPECT_FALSE(policy("{}").shrinks_after_step(10));
}

TEST(RowPolicy, WhatMakesNoSenseIsRefusedWithItsPath) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"admission": {}})", "rows.admission: expected either count or probability, found neither"},
      {R"({"admission": {"count": 2, "probability": 0.5}})", "found both"},
      {R"({"admission": {"count": 0}})", "rows.admission.count"},
      {R"({"admission": {"count": 65536}})", "rows.admission.count"},
      {R"({"admission": {"probability": 0}})", "rows.admission.probability"},
      {R"({"decay": 1.5})", "rows.decay"},
      {R"({"limit": 63})", "rows.limit: 63 is too small, expected 0, or 64 and more"},
      {R"({"when_full": "drop"})", "rows.when_full"},
      {R"({"expire": {"unseen": -1}})", "rows.expire.unseen"},
      {R"({"expire": {"days": 3}})", "days"},
  };
  for (const auto& [text, message] : cases) {
    try {
      policy(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      EXPECT_THAT(error.message(), HasSubstr(message));
    }
  }
}

}  // namespace
}  // namespace ps::row_policy_test
