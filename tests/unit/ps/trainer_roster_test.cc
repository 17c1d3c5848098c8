// The trainers of a run, and those that the others wait for.
#include "ps/server/trainer_roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/wire/hello.h"
#include "support/scratch_folder.h"

namespace ps::trainer_roster_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class TrainerRosterTest : public testing::Test {
 protected:
  TrainerRosterTest() { roster_.begin_run(5, 3, 3, 0s); }

  static Member member(int rank, uint64_t generation = 1, int trainers = 3) {
    return {rank, trainers, generation};
  }
  void come(int rank, uint64_t generation = 1) {
    roster_.take_over(roster_.at(rank), generation);
    roster_.connect(rank);
  }
  std::vector<int> missing(Time now) { return roster_.missing(now); }

  TrainerRoster roster_{{.timeout = 60s}};
};

TEST_F(TrainerRosterTest, ThoseWithoutAConnectionAreAbsentAtOnceAndMissingAfterTheTimeout) {
  come(0);
  EXPECT_THAT(roster_.absent(), ElementsAre(1, 2));
  EXPECT_THAT(missing(59s), IsEmpty());
  EXPECT_THAT(missing(60s), ElementsAre(1, 2));
  come(1);
  come(2);
  roster_.disconnect(member(2), 70s);
  EXPECT_THAT(roster_.absent(), ElementsAre(2));
  EXPECT_THAT(missing(129s), IsEmpty());
  EXPECT_THAT(missing(130s), ElementsAre(2));
  roster_.at(2).ended = true;
  EXPECT_THAT(roster_.absent(), IsEmpty());
  EXPECT_THAT(missing(1000s), IsEmpty());
}

TEST_F(TrainerRosterTest, OneThatLeavesTheRunIsMissingAfterASecondUnlessAnotherProcessComes) {
  for (int rank : {0, 1, 2}) come(rank);
  roster_.leave_run(1, 10s);
  EXPECT_THAT(missing(10900ms), IsEmpty());
  EXPECT_THAT(missing(11s), ElementsAre(1));
  come(1, 2);
  EXPECT_THAT(missing(11s), IsEmpty());
}

TEST_F(TrainerRosterTest, ARunIsStalledWhenSomeRankHasNotComeWithinTheTimeout) {
  come(0);
  come(1);
  EXPECT_FALSE(roster_.is_stalled(59s));
  EXPECT_TRUE(roster_.is_stalled(60s));
  EXPECT_TRUE(roster_.begins_run(member(0, 7, 2), 60s)) << "of another number";
  EXPECT_NO_THROW(roster_.check_can_begin(member(0, 7, 2), 60s));
  EXPECT_FALSE(roster_.begins_run(member(0, 7, 3), 60s)) << "of the same";
  come(2);
  EXPECT_FALSE(roster_.is_stalled(1000s)) << "all have been there";
  EXPECT_FALSE(roster_.begins_run(member(0, 7, 2), 1000s));
  EXPECT_EQ(error_of([&] { roster_.check_can_begin(member(0, 7, 2), 1000s); }).code(), Code::kUnavailable);
}

TEST_F(TrainerRosterTest, ARunHasAtMostAsManyTrainersAsThereAreConnections) {
  EXPECT_NO_THROW(TrainerRoster({}).check_can_begin(member(0, 1, kMostTrainers), 0s));
  EXPECT_EQ(error_of([&] { TrainerRoster({}).check_can_begin(member(0, 1, kMostTrainers + 1), 0s); }).code(),
            Code::kUsage);
}

// ---- trainers that join

class JoinsRosterTest : public testing::Test {
 protected:
  JoinsRosterTest() { roster_.begin_run(5, 2, 4, 0s); }

  static Member member(int rank, uint64_t generation = 1) {
    return {.rank = rank, .trainers = 2, .generation = generation, .max_trainers = 4};
  }

  TrainerRoster roster_{{.timeout = 60s, .go_on = true}};
};

TEST_F(JoinsRosterTest, NobodyWaitsForRanksThatMayJoin) {
  EXPECT_EQ(roster_.size(), 4u);
  EXPECT_THAT(roster_.absent(), ElementsAre(0, 1));
  EXPECT_THAT(roster_.missing(1000s), ElementsAre(0, 1));
  for (int rank : {0, 1}) roster_.take_over(roster_.at(rank), 1);
  EXPECT_FALSE(roster_.is_stalled(1000s));
}

TEST_F(JoinsRosterTest, OneThatJoinsTakesAFreeRankOfTheRun) {
  EXPECT_FALSE(roster_.begins_run(member(3), 1s));
  EXPECT_NO_THROW(roster_.check_can_take_over(member(3)));
  roster_.take_over(roster_.at(3), 1);
  EXPECT_TRUE(roster_.at(3).was_given_up);
  EXPECT_FALSE(roster_.is_given_up(3));
  EXPECT_THAT(roster_.given_up(), ElementsAre(2));
  roster_.connect(3);
  EXPECT_EQ(error_of([&] { roster_.check_can_take_over(member(3, 2)); }).code(), Code::kUnavailable);
  Member other = member(3, 2);
  other.max_trainers = 5;
  EXPECT_EQ(error_of([&] { roster_.check_can_take_over(other); }).code(), Code::kUsage);
}

TEST_F(JoinsRosterTest, OneThatJoinsBeginsNoRun) {
  TrainerRoster none({.go_on = true});
  EXPECT_TRUE(none.begins_run(member(2), 0s));
  const Error error = error_of([&] { none.check_can_begin(member(2), 0s); });
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_EQ(error.message(),
            "trainer 2 joins a run of 2 trainers once they have begun it, and they have not");
  EXPECT_NO_THROW(none.check_can_begin(member(1), 0s));
}

TEST_F(JoinsRosterTest, ARunThatNeedsAllOfItsRanksHasNoneThatMayJoin) {
  const Error error = error_of([&] { TrainerRoster({}).check_can_begin(member(0), 0s); });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_EQ(error.message(),
            "cluster.max_trainers is 4, more than the 2 of cluster.trainers, and the servers have "
            "cluster.on_trainer_loss stop: give them continue");
  Member many = member(0);
  many.max_trainers = kMostTrainers + 1;
  EXPECT_EQ(error_of([&] { TrainerRoster({.go_on = true}).check_can_begin(many, 0s); }).code(), Code::kUsage);
}

}  // namespace
}  // namespace ps::trainer_roster_test
