#include "membership/save_lease.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ps {
namespace {

using namespace std::chrono_literals;

class SaveLeaseTest : public testing::Test {
 protected:
  Saver ask(SaveStage stage, const std::string& name, int rank, uint64_t generation = 7, uint64_t run = 1) {
    return lease_.ask({run, stage, name}, rank, generation, now_);
  }
  bool begins(const std::string& name, int rank, uint64_t generation = 7) {
    return ask(SaveStage::kBegin, name, rank, generation).elected;
  }
  bool is_asked(const std::string& name, int rank) { return ask(SaveStage::kAsked, name, rank).elected; }

  SaveLease lease_;
  Time now_{};
};

TEST_F(SaveLeaseTest, TheFirstThatAsksSavesAndTheOthersLearnWhoDoes) {
  EXPECT_TRUE(is_asked("pass-00000-batch-3", 2));
  const Saver refused = ask(SaveStage::kAsked, "pass-00000-batch-4", 1);
  EXPECT_FALSE(refused.elected);
  EXPECT_EQ(refused.rank, 2);
  EXPECT_TRUE(is_asked("pass-00000-batch-3", 2)) << "an answer may be lost";
}

TEST_F(SaveLeaseTest, WhoRenewsKeepsItAndWhoDoesNotLosesIt) {
  EXPECT_TRUE(begins("pass-00000", 0));
  for (int i = 0; i < 10; ++i) {
    now_ = add_time(now_, SaveLease::kLength / 3);
    EXPECT_TRUE(ask(SaveStage::kGoesOn, "pass-00000", 0).elected);
    EXPECT_FALSE(begins("pass-00000", 1));
  }
  now_ = add_time(now_, SaveLease::kLength);
  EXPECT_TRUE(begins("pass-00000", 1));
  EXPECT_FALSE(ask(SaveStage::kGoesOn, "pass-00000", 0).elected) << "one that was taken for dead";
  EXPECT_FALSE(ask(SaveStage::kDone, "pass-00000", 0).elected);
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 1).elected);
}

TEST_F(SaveLeaseTest, WhatWasSavedIsNotSavedAgainAndWhatFailedIs) {
  EXPECT_TRUE(begins("pass-00000", 0));
  EXPECT_TRUE(ask(SaveStage::kFailed, "pass-00000", 0).elected);
  EXPECT_TRUE(begins("pass-00000", 1));
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 1).elected);
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 1).elected) << "an answer may be lost";
  EXPECT_FALSE(begins("pass-00000", 0));
  EXPECT_FALSE(begins("pass-00000", 1));
  EXPECT_TRUE(begins("pass-00001", 0));
  EXPECT_TRUE(ask(SaveStage::kBegin, "pass-00000", 0, 8, /*run=*/2).elected) << "in another run";
}

// Elected by the process before.
TEST_F(SaveLeaseTest, WhoSavesWhenTheServerComesAgainGoesOn) {
  EXPECT_TRUE(ask(SaveStage::kGoesOn, "pass-00000", 1).elected);
  EXPECT_FALSE(begins("pass-00000", 0));
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 1).elected);
  EXPECT_FALSE(ask(SaveStage::kGoesOn, "pass-00001", 1, 7, /*run=*/2).elected)
      << "another run is not taken up so";
}

TEST_F(SaveLeaseTest, AProcessThatTakesARankUpSavesInItsPlace) {
  EXPECT_TRUE(begins("pass-00000", 0, 7));
  EXPECT_TRUE(begins("pass-00000", 0, 8));
  EXPECT_FALSE(ask(SaveStage::kDone, "pass-00000", 0, 7).elected);
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 0, 8).elected);
}

TEST_F(SaveLeaseTest, OneSignalToAllIsOneModel) {
  EXPECT_TRUE(is_asked("pass-00000-batch-3", 0));
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000-batch-3", 0).elected);
  now_ = add_time(now_, SaveLease::kOneSignal / 2);
  EXPECT_FALSE(is_asked("pass-00000-batch-4", 1));
  EXPECT_TRUE(is_asked("pass-00000-batch-9", 0)) << "another signal: a trainer gets each once";
  now_ = add_time(now_, SaveLease::kOneSignal);
  EXPECT_FALSE(is_asked("pass-00000-batch-20", 1)) << "trainer 0 still saves";
  EXPECT_TRUE(begins("pass-00000", 1)) << "it ended the pass, as all have, so it does not";
}

TEST_F(SaveLeaseTest, OneTrainerMayEndWhatItWasAskedForWhileAnotherSavesAPass) {
  EXPECT_TRUE(is_asked("pass-00000-batch-3", 1));
  EXPECT_TRUE(begins("pass-00000", 0));
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000-batch-3", 1).elected);
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 0).elected);
  EXPECT_FALSE(ask(SaveStage::kGoesOn, "pass-00001", 0, 7, /*run=*/2).elected);
  EXPECT_FALSE(begins("pass-00000", 1)) << "a stranger has changed nothing";
}

TEST_F(SaveLeaseTest, BytesOfRequestsAndAnswers) {
  const LeaseRequest request{5, SaveStage::kDone, "pass-00003"};
  const std::string bytes = encode_lease_request(request);
  const LeaseRequest read = decode_lease_request(bytes);
  EXPECT_EQ(read.run, 5u);
  EXPECT_EQ(read.stage, SaveStage::kDone);
  EXPECT_EQ(read.name, "pass-00003");
  for (size_t size = 0; size < 9; ++size) {
    EXPECT_THROW(decode_lease_request(std::span(bytes).first(size)), Error) << size;
  }
  std::string unknown = bytes;
  unknown[8] = 5;
  EXPECT_THROW(decode_lease_request(unknown), Error);
  const std::string answer = encode_saver({true, 3});
  EXPECT_EQ(decode_saver(answer).rank, 3);
  EXPECT_TRUE(decode_saver(answer).elected);
  EXPECT_THROW(decode_saver(std::span(answer).first(4)), Error);
}

}  // namespace
}  // namespace ps
