// The election of savers, by the same claims on records of both kinds.
#include "membership/save_election.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "membership/etcd_save_records.h"
#include "membership/server_save_records.h"
#include "support/fake_etcd.h"

namespace ps::save_election_test {
namespace {

using namespace std::chrono_literals;

// The parameter is true for records in etcd, which each trainer reads and changes by itself.
class SaveElectionTest : public testing::TestWithParam<bool> {
 protected:
  Saver ask(SaveStage stage, const std::string& name, int rank, uint64_t generation = 7, uint64_t run = 1) {
    SaveRecords& records =
        GetParam() ? static_cast<SaveRecords&>(in_etcd_[static_cast<size_t>(rank)]) : in_server_;
    return elect_saver(records, {run, rank, generation}, stage, name);
  }
  bool begins(const std::string& name, int rank, uint64_t generation = 7) {
    return ask(SaveStage::kBegin, name, rank, generation).elected;
  }
  bool is_asked(const std::string& name, int rank) { return ask(SaveStage::kAsked, name, rank).elected; }

  // Ends the leases that are no longer than this.
  void pass(Duration time) {
    now_ = add_time(now_, time);
    etcd_.end_leases(std::chrono::ceil<std::chrono::seconds>(time).count());
  }

  Time now_{};
  ServerSaveRecords in_server_{[this] { return now_; }};
  const std::unique_ptr<Transport> network_ = make_network();
  FakeEtcd etcd_{*network_};
  EtcdClient client_ = etcd_.client();
  std::vector<EtcdSaveRecords> in_etcd_ = std::vector<EtcdSaveRecords>(3, EtcdSaveRecords(client_));
};

INSTANTIATE_TEST_SUITE_P(, SaveElectionTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "InEtcd" : "InServer"; });

TEST_P(SaveElectionTest, TheFirstThatAsksSavesAndTheOthersLearnWhoDoes) {
  EXPECT_TRUE(is_asked("pass-00000-batch-3", 2));
  const Saver refused = ask(SaveStage::kAsked, "pass-00000-batch-4", 1);
  EXPECT_FALSE(refused.elected);
  EXPECT_EQ(refused.rank, 2);
  EXPECT_TRUE(is_asked("pass-00000-batch-3", 2)) << "an answer may be lost";
}

TEST_P(SaveElectionTest, WhoRenewsKeepsItAndWhoDoesNotLosesIt) {
  EXPECT_TRUE(begins("pass-00000", 0));
  for (int i = 0; i < 10; ++i) {
    pass(kSaveLeaseLength / 3);
    EXPECT_TRUE(ask(SaveStage::kGoesOn, "pass-00000", 0).elected);
    EXPECT_FALSE(begins("pass-00000", 1));
  }
  pass(kSaveLeaseLength);
  EXPECT_TRUE(begins("pass-00000", 1));
  EXPECT_FALSE(ask(SaveStage::kGoesOn, "pass-00000", 0).elected) << "one that was taken for dead";
  EXPECT_FALSE(ask(SaveStage::kDone, "pass-00000", 0).elected);
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 1).elected);
}

TEST_P(SaveElectionTest, WhatWasSavedIsNotSavedAgainAndWhatFailedIs) {
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

// The record is lost when the first server restarts, or when the lease expires.
TEST_P(SaveElectionTest, WhoSavesAndHasLostItsRecordGoesOnUnlessAnotherTrainerHasBegun) {
  EXPECT_TRUE(ask(SaveStage::kGoesOn, "pass-00000", 1).elected);
  EXPECT_FALSE(begins("pass-00000", 0));
  pass(kSaveLeaseLength);
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 1).elected);
  pass(kSaveLeaseLength);
  EXPECT_FALSE(begins("pass-00000", 0)) << "a model that is saved stays so";
}

TEST_P(SaveElectionTest, AProcessThatTakesARankUpSavesInItsPlace) {
  EXPECT_TRUE(begins("pass-00000", 0, 7));
  EXPECT_TRUE(begins("pass-00000", 0, 8));
  EXPECT_FALSE(ask(SaveStage::kDone, "pass-00000", 0, 7).elected);
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 0, 8).elected);
}

TEST_P(SaveElectionTest, OneSignalToAllIsOneModel) {
  EXPECT_TRUE(is_asked("pass-00000-batch-3", 0));
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000-batch-3", 0).elected);
  pass(kOneSignal / 2);
  EXPECT_FALSE(is_asked("pass-00000-batch-4", 1));
  EXPECT_TRUE(is_asked("pass-00000-batch-9", 0)) << "another signal: a trainer gets each once";
  pass(kOneSignal);
  EXPECT_FALSE(is_asked("pass-00000-batch-20", 1)) << "trainer 0 still saves";
  EXPECT_TRUE(begins("pass-00000", 1)) << "it ended the pass, as all have, so it does not";
}

TEST_P(SaveElectionTest, OneTrainerMayEndWhatItWasAskedForWhileAnotherSavesAPass) {
  EXPECT_TRUE(is_asked("pass-00000-batch-3", 1));
  EXPECT_TRUE(begins("pass-00000", 0));
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000-batch-3", 1).elected);
  EXPECT_TRUE(ask(SaveStage::kDone, "pass-00000", 0).elected);
  EXPECT_FALSE(begins("pass-00000", 1));
}

// Servers begin no checkpoint while a pass is saved, and a save that was asked for may wait for a checkpoint.
TEST(SaveElection, ARecordThatComesAgainSaysWhetherThePassIsSaved) {
  for (const SaveStage stage : {SaveStage::kAsked, SaveStage::kGoesOn}) {
    ServerSaveRecords records([] { return Time(); });
    EXPECT_TRUE(elect_saver(records, {1, 0, 7}, stage, "pass-00000-batch-3").elected);
    EXPECT_FALSE(records.saves_pass()) << static_cast<int>(stage);
    EXPECT_TRUE(elect_saver(records, {1, 1, 7}, SaveStage::kGoesOn, "pass-00000").elected);
    EXPECT_TRUE(records.saves_pass());
  }
}

TEST(SaveElection, BytesOfRequestsAndAnswers) {
  const SaveRequest request{5, SaveStage::kDone, "pass-00003"};
  const std::string bytes = encode_save_request(request);
  const SaveRequest read = decode_save_request(bytes);
  EXPECT_EQ(read.run, 5u);
  EXPECT_EQ(read.stage, SaveStage::kDone);
  EXPECT_EQ(read.name, "pass-00003");
  for (size_t size = 0; size < 9; ++size) {
    EXPECT_THROW(decode_save_request(std::span(bytes).first(size)), Error) << size;
  }
  std::string unknown = bytes;
  unknown[8] = 5;
  EXPECT_THROW(decode_save_request(unknown), Error);
  const std::string answer = encode_saver({true, 3});
  EXPECT_EQ(decode_saver(answer).rank, 3);
  EXPECT_TRUE(decode_saver(answer).elected);
  EXPECT_THROW(decode_saver(std::span(answer).first(4)), Error);
}

}  // namespace
}  // namespace ps::save_election_test
