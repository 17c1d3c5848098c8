#include "optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "config/spec.h"
#include "optim/optimizer_plan.h"

namespace ps::schedule_test {
namespace {

using testing::HasSubstr;

std::unique_ptr<Schedule> schedule(const char* text, double learning_rate = 0.1) {
  return make_schedule(parse_json(text, "test"), learning_rate, "optimizer.schedule");
}

double at_samples(const char* text, int64_t samples) {
  return schedule(text)->rate({samples, 0, 0});
}

std::string error_of(const char* text) {
  try {
    schedule(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "no error";
}

TEST(Schedule, OfNoneIsConstant) {
  EXPECT_EQ(make_schedule(Json(), 0.1, "s")->rate({12345, 67, 8}), 0.1);
  EXPECT_EQ(at_samples(R"({"type": "constant"})", 99999), 0.1);
}

TEST(Schedule, PolyFallsWithAPower) {
  EXPECT_EQ(at_samples(R"({"type": "poly", "a": 0.5, "b": 2})", 0), 0.1);
  EXPECT_NEAR(at_samples(R"({"type": "poly", "a": 0.5, "b": 2})", 2), 0.025, 1e-16);
}

TEST(Schedule, CaffePolyIsFireCaffesRuleByDefault) {
  const char* text = R"({"type": "caffe_poly", "a": 100})";
  EXPECT_EQ(at_samples(text, 0), 0.1);
  EXPECT_NEAR(at_samples(text, 75), 0.05, 1e-16);
  EXPECT_EQ(at_samples(text, 100), 0);
  EXPECT_EQ(at_samples(text, 101), 0);
}

TEST(Schedule, ExpFallsSmoothlyAndDiscexpInStairs) {
  EXPECT_NEAR(at_samples(R"({"type": "exp", "a": 0.25, "b": 10})", 5), 0.05, 1e-16);
  EXPECT_EQ(at_samples(R"({"type": "discexp", "a": 0.25, "b": 10})", 9), 0.1);
  EXPECT_NEAR(at_samples(R"({"type": "discexp", "a": 0.25, "b": 10})", 25), 0.1 / 16, 1e-16);
}

TEST(Schedule, LinearStopsAtItsFloor) {
  EXPECT_NEAR(at_samples(R"({"type": "linear", "a": 0.001, "b": 0.02})", 30), 0.07, 1e-16);
  EXPECT_EQ(at_samples(R"({"type": "linear", "a": 0.001, "b": 0.02})", 1000), 0.02);
}

TEST(Schedule, ManualHoldsEachFactorBeforeItsEnd) {
  auto manual = schedule(R"({"type": "manual", "segments": [[10, 1], [20, 0.5], [30, 0.2]]})");
  EXPECT_EQ(manual->rate({9, 0, 0}), 0.1);
  EXPECT_EQ(manual->rate({10, 0, 0}), 0.05);
  EXPECT_EQ(manual->rate({19, 0, 0}), 0.05);
  EXPECT_EQ(manual->rate({1000, 0, 0}), 0.1 * 0.2);
  auto by_pass = schedule(R"({"type": "pass_manual", "segments": [[1, 1], [3, 0.5]]})");
  EXPECT_EQ(by_pass->rate({100000, 100, 0}), 0.1);
  EXPECT_EQ(by_pass->rate({100000, 100, 1}), 0.05);
}

TEST(Schedule, CosineEndsAtItsFloor) {
  const char* text = R"({"type": "cosine", "period": 100, "floor": 0.2})";
  EXPECT_EQ(at_samples(text, 0), 0.1);
  EXPECT_NEAR(at_samples(text, 50), 0.06, 1e-16);
  EXPECT_EQ(at_samples(text, 100), 0.1 * 0.2);
  EXPECT_EQ(at_samples(text, 170), 0.1 * 0.2);
}

TEST(Schedule, CountsInTheUnitAskedFor) {
  EXPECT_EQ(schedule(R"({"type": "discexp", "a": 0.5, "b": 1, "unit": "steps"})")->rate({99, 1, 7}), 0.05);
  EXPECT_EQ(schedule(R"({"type": "discexp", "a": 0.5, "b": 1, "unit": "passes"})")->rate({99, 9, 1}), 0.05);
}

TEST(Schedule, WarmsUpBeforeAnyOfThem) {
  for (const ScheduleEntry* entry : schedule_catalog()) {
    Json object = {{"type", entry->name}};
    for (const auto& field : entry->spec().fields()) {
      if (field->required)
        object[field->name] = field->name == "segments" ? Json{{1000, 1}, {2000, 0.5}} : Json(0.05);
    }
    auto cold = make_schedule(object, 0.1, "s");
    object["warmup"] = {{"length", 10}, {"start", 0.2}, {"unit", "steps"}};
    auto warm = make_schedule(object, 0.1, "s");
    EXPECT_DOUBLE_EQ(warm->rate({0, 0, 0}), 0.2 * cold->rate({0, 0, 0})) << entry->name;
    EXPECT_DOUBLE_EQ(warm->rate({0, 5, 0}), 0.6 * cold->rate({0, 5, 0})) << entry->name;
    EXPECT_EQ(warm->rate({0, 10, 0}), cold->rate({0, 10, 0})) << entry->name;
  }
}

TEST(Schedule, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(R"({"type": "pol", "a": 1})"),
              HasSubstr("optimizer.schedule.type: unknown schedule 'pol' (did you mean 'poly'?)"));
  EXPECT_THAT(error_of(R"({"type": "poly", "b": 1})"), HasSubstr("optimizer.schedule.a: missing"));
  EXPECT_THAT(error_of(R"({"type": "exp", "a": 0.5, "b": 0})"),
              HasSubstr("optimizer.schedule.b: 0 is too small"));
  EXPECT_THAT(error_of(R"({"type": "constant", "unit": "steps"})"),
              HasSubstr("optimizer.schedule.unit: unknown key"));
  EXPECT_THAT(error_of(R"({"type": "cosine", "period": 9, "unit": "step"})"),
              HasSubstr("did you mean 'steps'?"));
  EXPECT_THAT(error_of(R"({"type": "manual", "segments": []})"),
              HasSubstr("optimizer.schedule.segments: empty"));
  EXPECT_THAT(error_of(R"({"type": "manual", "segments": [[5, 1], [5, 2]]})"),
              HasSubstr("segments.1: end 5 is not above the one before, 5"));
  EXPECT_THAT(error_of(R"({"type": "manual", "segments": [[5]]})"),
              HasSubstr("segments.0: expected [end, factor]"));
  EXPECT_THAT(error_of(R"({"type": "pass_manual", "segments": [[1, -1]]})"),
              HasSubstr("factor -1 is negative"));
  EXPECT_THAT(error_of(R"({"type": "constant", "warmup": {"start": 0.1}})"),
              HasSubstr("warmup.length: missing"));
}

TEST(Schedule, ScaledRateMultipliesWarmUpAndLowestRateToo) {
  const auto rate = [](const char* rule, int64_t examples, int64_t samples) {
    const Json optimizer = {
        {"type", "sgd"},
        {"learning_rate", 0.1},
        {"scale_rate", {{"rule", rule}, {"batch", 256}}},
        {"schedule",
         parse_json(R"({"type": "linear", "a": 0.0001, "b": 0.02, "warmup": {"length": 100, "start": 0.2}})",
                    "test")}};
    return make_optimizer_plan(optimizer, "mean", best_cpu_level(), examples).schedule->rate({samples, 0, 0});
  };
  EXPECT_NEAR(rate("linear", 2048, 0), 8 * 0.1 * 0.2, 1e-15);
  EXPECT_NEAR(rate("linear", 2048, 200), 8 * 0.08, 1e-15);
  EXPECT_NEAR(rate("linear", 2048, 5000), 8 * 0.02, 1e-15);
  EXPECT_NEAR(rate("linear", 64, 200), 0.08 / 4, 1e-15);
  EXPECT_NEAR(rate("sqrt", 1024, 200), 2 * 0.08, 1e-15);
  EXPECT_NEAR(rate("sqrt", 0, 200), 0.08, 1e-15) << "of a plan that nobody gave the examples of a step";
}

TEST(Schedule, ScaleOfAnUnknownRuleIsRefused) {
  const Json scale = {{"rule", "cubic"}, {"batch", 1}};
  EXPECT_THROW(make_optimizer_plan({{"type", "sgd"}, {"scale_rate", scale}}, "mean"), Error);
  EXPECT_THROW(make_optimizer_plan({{"type", "sgd"}, {"scale_rate", {{"rule", "linear"}}}}, "mean"), Error);
}

}  // namespace
}  // namespace ps::schedule_test
