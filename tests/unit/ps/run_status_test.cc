// Run status and consistency: the facts by which trainers and shards keep step.
#include "ps/wire/run_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/spec.h"
#include "ps/wire/checkpoint_step.h"
#include "ps/wire/consistency.h"
#include "support/scratch_folder.h"

namespace ps::run_status_test {
namespace {

using testing::HasSubstr;

// Every member has a value that it does not begin with.
RunStatus full_status() {
  return {.run = ~uint64_t{0},
          .step = 2,
          .held = 1,
          .pass = 3,
          .batches = 4,
          .pass_batches = 5,
          .pass_begun = true,
          .gathered = 6,
          .dealings = 10,
          .deals = true,
          .was_given_up = true,
          .has_rows = true,
          .going = true,
          .recovers = true,
          .checkpoint = "step-000000007",
          .checkpointed = true,
          .gives_shards = true,
          .finished = 8,
          .ended_early = true,
          .logged = true,
          .checkpoint_at = 9,
          .checkpoint_number = 11};
}

TEST(RunStatus, EveryMemberTravels) {
  const Json json = RunStatus::spec().to_json(full_status());
  const RunStatus again = RunStatus::spec().parse(json, "run_status");
  EXPECT_EQ(again.run, ~uint64_t{0});
  EXPECT_EQ(again.step, 2u);
  EXPECT_EQ(again.held, 1u);
  EXPECT_EQ(again.pass, 3u);
  EXPECT_EQ(again.batches, 4u);
  EXPECT_EQ(again.pass_batches, 5u);
  EXPECT_TRUE(again.pass_begun);
  EXPECT_EQ(again.gathered, 6u);
  EXPECT_EQ(again.dealings, 10u);
  EXPECT_TRUE(again.deals);
  EXPECT_TRUE(again.was_given_up);
  EXPECT_TRUE(again.has_rows);
  EXPECT_TRUE(again.going);
  EXPECT_TRUE(again.recovers);
  EXPECT_EQ(again.checkpoint, "step-000000007");
  EXPECT_TRUE(again.checkpointed);
  EXPECT_TRUE(again.gives_shards);
  EXPECT_EQ(again.finished, 8u);
  EXPECT_TRUE(again.ended_early);
  EXPECT_TRUE(again.logged);
  EXPECT_EQ(again.checkpoint_at, 9u);
  EXPECT_EQ(again.checkpoint_number, 11u);
  const Json first = RunStatus::spec().to_json(RunStatus());
  for (const auto& [key, value] : json.items()) EXPECT_NE(value, first.at(key)) << key;
  EXPECT_EQ(json.size(), 22u);
}

// Trainers count on from these: sums of them must not overflow.
TEST(RunStatus, CountsBeyondAnyRunAreRefused) {
  const uint64_t most = 1'000'000'000'000'000;
  for (const char* key : {"step", "batches", "pass_batches", "gathered"}) {
    EXPECT_NO_THROW(RunStatus::spec().parse({{key, most}}, "run_status")) << key;
    EXPECT_THAT(error_of([&] {
                  RunStatus::spec().parse({{key, most * 2}}, "run_status");
                }).message(),
                HasSubstr(key));
  }
  for (const char* key : {"pass", "finished"}) {
    EXPECT_NO_THROW(RunStatus::spec().parse({{key, INT32_MAX}}, "run_status")) << key;
    EXPECT_THAT(error_of([&] {
                  RunStatus::spec().parse({{key, int64_t{INT32_MAX} + 1}}, "run_status");
                }).message(),
                HasSubstr(key));
  }
}

TEST(RunStatus, NoMoreStepsAreHeldThanThereAre) {
  EXPECT_NO_THROW(RunStatus::spec().parse({{"step", 3}, {"held", 3}}, "run_status"));
  EXPECT_THAT(error_of([] {
                RunStatus::spec().parse({{"step", 3}, {"held", 4}}, "run_status");
              }).message(),
              HasSubstr("held: 4 of 3 steps"));
}

TEST(RunStatus, ACheckpointIsNamedAsItsFolderIs) {
  for (const char* name : {"", "step-000000007", "step-1000000000"})
    EXPECT_NO_THROW(RunStatus::spec().parse({{"checkpoint", name}}, "run_status")) << name;
  for (const char* name :
       {"..", "/", "/nowhere", "../../../etc/passwd", "step-7", "step-000000007/..", "step-"}) {
    EXPECT_THAT(error_of([&] {
                  RunStatus::spec().parse({{"checkpoint", name}}, "run_status");
                }).message(),
                HasSubstr("run_status.checkpoint: '"))
        << name;
    Json hello = {{"protocol", 1}, {"checkpoint", name}};
    for (const char* key : {"job", "schema", "place"}) hello[key] = Json::object();
    EXPECT_THAT(error_of([&] { Hello::spec().parse(hello, "hello"); }).message(),
                HasSubstr("hello.checkpoint: '"))
        << name;
  }
}

TEST(RunStatus, ValuesOfOtherTypesAndUnknownMembersAreRefused) {
  for (const Json& json : {Json{{"step", -1}}, Json{{"step", "2"}}, Json{{"going", 1}},
                           Json{{"checkpoint", 1}}, Json{{"stepp", 1}}, Json::array()}) {
    EXPECT_EQ(error_of([&] { RunStatus::spec().parse(json, "run_status"); }).code(), Code::kUsage) << json;
  }
}

TEST(Consistency, StaleTrainersLeadAndThoseWithBatchesAhead) {
  EXPECT_EQ(Consistency().lead(), 0u);
  EXPECT_EQ((Consistency{.staleness = 3}.lead()), 3u);
  EXPECT_EQ((Consistency{.async = true, .staleness = 3, .max_lag = 5}.lead()), 0u);
  EXPECT_EQ((Consistency{.async = true, .ahead = 4}.lead()), 4u);
  EXPECT_EQ((Consistency{.ahead = 4}.lead()), 4u);
}

TEST(CheckpointStep, HasARunAndAStepThatIsNotNegative) {
  const CheckpointStep step{.run = ~uint64_t{0}, .step = 12};
  EXPECT_EQ(CheckpointStep::spec().parse(CheckpointStep::spec().to_json(step), "checkpoint"), step);
  for (const Json& json : {Json{{"step", 1}}, Json{{"run", 1}}, Json{{"run", 1}, {"step", -1}}}) {
    EXPECT_EQ(error_of([&] { CheckpointStep::spec().parse(json, "checkpoint"); }).code(), Code::kUsage)
        << json;
  }
}

}  // namespace
}  // namespace ps::run_status_test
