// The drivers of a shard's checkpoints and of its log: who decides, who waits, and what they are told.
#include "ps/server/checkpoint_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/log.h"
#include "checkpoint/checkpoint_directory.h"
#include "net/sim/sim_network.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/log_driver.h"
#include "ps/server/served_job.h"
#include "recording_reply.h"
#include "support/scratch_folder.h"

namespace ps::checkpoint_driver_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A shard of one trainer, which is the job's first.
class DriverTest : public testing::Test {
 protected:
  DriverTest() {
    settings_.directory = folder_.path();
    settings_.own_thread = false;
    settings_.job = Json::object();
    identity_.schema = identity_.place = Json::object();
    shard_.membership().join({0, 1, 1}, network_.now());
  }

  static ReplyPtr reply(const OutcomePtr& outcome) { return std::make_unique<RecordingReply>(outcome); }

  SimNetwork network_{1};
  Loop& loop_ = network_.host("server").loop();
  ScratchFolder folder_;
  CheckpointSettings settings_;
  ShardIdentity identity_;
  Shard shard_{{synthetic_parameter("table", ParameterKind::kRows, true, 0, 1)},
               make_optimizer_plan({{"type", "sgd"}}, "sum"),
               ShardPlace(),
               Consistency(),
               TrainerLoss()};
};

class CheckpointDriverTest : public DriverTest {
 protected:
  void attach() {
    driver_.on_end([this] { ++ends_; });
    driver_.attach(shard_, identity_);
  }
  OutcomePtr ask(int64_t pass) {
    auto outcome = std::make_shared<Outcome>();
    driver_.ask(pass, reply(outcome));
    return outcome;
  }
  static AskedCheckpoint answer(const OutcomePtr& outcome) {
    return decode_asked_checkpoint(*outcome->answer);
  }

  ServerSaveRecords saves_{[this] { return network_.now(); }};
  CheckpointDriver driver_{loop_, settings_, saves_};
  int ends_ = 0;
};

TEST_F(CheckpointDriverTest, WithoutADirectoryThereAreNone) {
  settings_.directory.clear();
  attach();
  EXPECT_FALSE(driver_.is_attached());
  EXPECT_FALSE(driver_.decides());
  EXPECT_EQ(driver_.counters(), nullptr);
  EXPECT_FALSE(answer(ask(-1)).counts);
}

TEST_F(CheckpointDriverTest, OnlyTheFirstShardDecides) {
  identity_.shard_place.dense = 1;
  attach();
  EXPECT_TRUE(driver_.is_attached());
  EXPECT_FALSE(driver_.decides());
  EXPECT_THAT(answer(ask(-1)).text, HasSubstr("does not begin checkpoints"));
}

TEST_F(CheckpointDriverTest, OneIsWantedBySteps) {
  settings_.steps = 5;
  attach();
  EXPECT_TRUE(driver_.wants(10));
  EXPECT_FALSE(driver_.wants(11));
}

TEST_F(CheckpointDriverTest, OneIsWantedByTimeSinceTheLast) {
  settings_.period = 60s;
  network_.run_for(100s);
  attach();
  EXPECT_FALSE(driver_.wants(1));
  network_.run_for(60s);
  EXPECT_TRUE(driver_.wants(1));
}

TEST_F(CheckpointDriverTest, WhoAsksIsAnsweredWhenTheNextCounts) {
  attach();
  EXPECT_FALSE(driver_.wants(3));
  OutcomePtr asked = ask(-1);
  EXPECT_TRUE(driver_.wants(3));
  const CheckpointStep step = driver_.begin(3, /*at_end=*/false);
  EXPECT_EQ(step, (CheckpointStep{shard_.roster().run(), 3}));
  EXPECT_TRUE(driver_.busy());
  EXPECT_FALSE(driver_.wants(4)) << "one is being written";
  EXPECT_TRUE(asked->waits());
  network_.run_for(60s);
  ASSERT_TRUE(asked->answer);
  EXPECT_TRUE(answer(asked).counts);
  EXPECT_EQ(answer(asked).text, step_folder(3));
  EXPECT_EQ(ends_, 1);
  EXPECT_FALSE(driver_.busy());
  EXPECT_EQ(read_latest(folder_.path())->folder, step_folder(3));
}

TEST_F(CheckpointDriverTest, WhoWaitsOverAConnectionThatIsGoneIsForgotten) {
  attach();
  OutcomePtr begun = ask(-1), begun_and_gone = ask(-1);
  driver_.begin(3, /*at_end=*/false);
  OutcomePtr next = ask(-1), next_and_gone = ask(-1);
  OutcomePtr files = std::make_shared<Outcome>(), files_and_gone = std::make_shared<Outcome>();
  for (const OutcomePtr& each : {files, files_and_gone}) driver_.ask_shard_files(1000, reply(each));
  EXPECT_EQ(driver_.num_waiting(), 6u);
  for (const OutcomePtr& each : {begun_and_gone, next_and_gone, files_and_gone}) each->wanted = false;
  driver_.forget_unwanted();
  EXPECT_EQ(driver_.num_waiting(), 3u);
  network_.run_for(60s);
  EXPECT_TRUE(begun->answer);
  EXPECT_FALSE(begun_and_gone->answer);
  EXPECT_EQ(driver_.num_waiting(), 2u) << "of checkpoints to come";
  for (const OutcomePtr& each : {next, files}) EXPECT_TRUE(each->waits());
}

TEST_F(CheckpointDriverTest, TheCheckpointAtTheEndOfAPassIsKnownByIt) {
  attach();
  driver_.set_last(4, {7, 9});
  EXPECT_EQ(answer(ask(4)).text, step_folder(9));
  EXPECT_EQ(answer(ask(4)).run, 7u);
  EXPECT_FALSE(answer(ask(3)).counts);
}

TEST_F(CheckpointDriverTest, FilesAreGivenOutWhenTheyAreWrittenAndNotOfStepsThatArePast) {
  attach();
  auto files = [this](uint64_t step) {
    auto outcome = std::make_shared<Outcome>();
    driver_.ask_shard_files(step, reply(outcome));
    return outcome;
  };
  OutcomePtr past = files(0), coming = files(3);
  ASSERT_TRUE(past->answer);
  EXPECT_FALSE(decode_shard_answer(*past->answer).manifest);
  EXPECT_TRUE(coming->waits());
  driver_.begin(3, false);
  network_.run_for(60s);
  ASSERT_TRUE(coming->answer);
  EXPECT_TRUE(decode_shard_answer(*coming->answer).manifest);
}

TEST_F(CheckpointDriverTest, AllWhoWaitHearThatTheShardHasGone) {
  attach();
  OutcomePtr asked = ask(-1);
  driver_.detach(Error(Code::kUnavailable, "another run begins"));
  ASSERT_TRUE(asked->error);
  EXPECT_EQ(asked->error->message(), "another run begins");
  EXPECT_FALSE(driver_.is_attached() || driver_.busy());
}

// ---- the log

class LogDriverTest : public DriverTest {
 protected:
  LogDriverTest() { settings_.durable = true; }

  OutcomePtr answer_when_synced() {
    auto outcome = std::make_shared<Outcome>();
    driver_.when_synced(reply(outcome))->answer(Payload(std::string("done")));
    return outcome;
  }
  // A change of the shard, which its log has to have.
  void change() {
    ReplyPtr reply = std::make_unique<RecordingReply>(std::make_shared<Outcome>());
    shard_.gather(0, {0, "a"}, reply);
  }

  std::vector<Error> errors_;
  LogDriver driver_{loop_, settings_, [this](const Error& error) { errors_.push_back(error); }};
};

TEST_F(LogDriverTest, WithoutALogAnswersGoOutAtOnceAndAnOldLogGoes) {
  settings_.durable = false;
  make_directories(driver_.folder(ShardPlace()));
  driver_.begin(shard_, identity_, {});
  EXPECT_FALSE(driver_.is_on());
  EXPECT_EQ(driver_.counters(), nullptr);
  EXPECT_FALSE(exists(driver_.folder(ShardPlace())));
  EXPECT_TRUE(answer_when_synced()->answer);
}

TEST_F(LogDriverTest, AnAnswerIsHeldBackUntilItsChangeIsOnTheDisk) {
  driver_.begin(shard_, identity_, {});
  EXPECT_TRUE(driver_.is_on());
  change();
  OutcomePtr outcome = answer_when_synced();
  EXPECT_TRUE(outcome->waits());
  network_.run_for(10s);
  EXPECT_EQ(outcome->answer, "done");
  EXPECT_EQ(driver_.counters()->events, 1u);
}

TEST_F(LogDriverTest, AnswersThatAreHeldBackAreRefusedAtTheEnd) {
  driver_.begin(shard_, identity_, {});
  change();
  OutcomePtr outcome = answer_when_synced();
  driver_.end(Error(Code::kUnavailable, "the server is ending"));
  network_.run_for(10s);
  ASSERT_TRUE(outcome->error);
  EXPECT_EQ(outcome->error->code(), Code::kUnavailable);
}

TEST_F(LogDriverTest, BytesThatArePassedOverAreAWarning) {
  Log log("ps-serve", LogLevel::kWarning);
  settings_.log = &log;
  LogEnd end;
  end.header.is_base = true;
  end.header.owner = {Json::object(), Json::object(), Json::object(), "baseline", false, ""};
  end.torn = {{"000000001.psl", 128, 40}};
  testing::internal::CaptureStderr();
  driver_.resume(shard_, ShardPlace(), std::move(end), 0, [](const CheckpointStep&) {});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ps-serve: warning: 40 bytes behind offset 128 of 000000001.psl are no whole batch: a crash, or "
            "damage\n");
}

TEST_F(LogDriverTest, TheLogOfAnEarlierRunIsNotOverwrittenUnasked) {
  EXPECT_NO_THROW(driver_.check_is_new(ShardPlace(), false));
  driver_.begin(shard_, identity_, {});
  change();
  network_.run_for(10s);
  const Error error = error_of([this] { driver_.check_is_new(ShardPlace(), false); });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("--resume"));
  EXPECT_NO_THROW(driver_.check_is_new(ShardPlace(), true));
}

}  // namespace
}  // namespace ps::checkpoint_driver_test
