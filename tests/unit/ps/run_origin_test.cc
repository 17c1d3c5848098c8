// The checkpoint with which a run begins, and the file that says that a run is over.
#include "ps/server/run_origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_file_writer.h"
#include "ps/server/finished_run.h"
#include "support/scratch_folder.h"

namespace ps::run_origin_test {
namespace {

using testing::HasSubstr;

template <class T>
Hello with(T Hello::*member, T value) {
  Hello hello;
  hello.*member = value;
  return hello;
}

// The hello of a trainer whose run the first shard has begun with this checkpoint.
Hello of_run(uint64_t run, const std::string& checkpoint) {
  Hello hello;
  hello.run = run;
  hello.checkpoint = checkpoint;
  return hello;
}

class RunOriginTest : public testing::Test {
 protected:
  RunOriginTest() { settings_.directory = folder_.path(); }

  // A checkpoint of one state, which counts.
  void write_checkpoint(int64_t step, const Json& job = Json::object()) {
    const CheckpointTarget target{begin_checkpoint(system_files(), folder_.path(), step), {}, nullptr};
    Manifest manifest{.step = step, .generation = 7, .job = job};
    CheckpointFileWriter writer(target, "state.psc");
    writer.state("run", cat("state at ", step));
    manifest.files.push_back(writer.finish());
    commit_checkpoint(system_files(), folder_.path(), manifest);
  }
  void damage(int64_t step) {
    const std::string path = folder_.path(step_folder(step) + "/state.psc");
    std::string bytes = read_file(path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file(path, bytes);
  }
  void damage_manifest(int64_t step) { write_file(folder_.path(step_folder(step) + "/MANIFEST.json"), "{"); }
  // The step of the checkpoint with which the run begins; -1: with none.
  int64_t origin(const Hello& hello) const {
    const auto reader = open_origin(hello, settings_);
    return reader ? reader->manifest().step : -1;
  }
  int64_t log_origin() const {
    const auto reader = open_for_log(settings_);
    return reader ? reader->manifest().step : -1;
  }

  ScratchFolder folder_;
  CheckpointSettings settings_;
};

TEST_F(RunOriginTest, ARunGoesBackWhenAnyoneSaysSo) {
  EXPECT_FALSE(goes_back(Hello(), settings_));
  EXPECT_TRUE(goes_back(with(&Hello::resume, true), settings_));
  EXPECT_TRUE(goes_back(with<uint64_t>(&Hello::lost, 3), settings_));
  EXPECT_TRUE(goes_back(with(&Hello::recovers, true), settings_));
  settings_.resume = true;
  EXPECT_TRUE(goes_back(Hello(), settings_));
}

TEST_F(RunOriginTest, AnEmptyDirectoryBeginsARunAnew) {
  EXPECT_EQ(origin(Hello()), -1);
  EXPECT_EQ(origin(with(&Hello::resume, true)), -1);
}

TEST_F(RunOriginTest, CheckpointsOfAnEarlierRunAreNotOverwrittenUnasked) {
  write_checkpoint(3);
  const Error error = error_of([this] { origin(Hello()); });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("--resume"));
}

TEST_F(RunOriginTest, TheFirstShardGoesOnFromTheNewest) {
  write_checkpoint(3);
  write_checkpoint(12);
  EXPECT_EQ(origin(with(&Hello::resume, true)), 12);
  EXPECT_EQ(origin(with<uint64_t>(&Hello::lost, 5)), 12);
}

TEST_F(RunOriginTest, ADamagedOneIsPassedOver) {
  write_checkpoint(3);
  write_checkpoint(12);
  damage(12);
  EXPECT_EQ(origin(with(&Hello::resume, true)), 3);
}

TEST_F(RunOriginTest, OtherShardsTakeTheOneThatTheFirstHasTaken) {
  write_checkpoint(3);
  write_checkpoint(12);
  EXPECT_EQ(origin(of_run(9, step_folder(3))), 3);
  EXPECT_EQ(origin(of_run(9, "")), -1) << "it has taken none";
  EXPECT_EQ(error_of([this] { origin(of_run(9, step_folder(4))); }).code(), Code::kCorrupt);
}

// The folder is within that of the checkpoints, whatever a peer calls it, and no answer tells where that is.
TEST_F(RunOriginTest, APeerNamesACheckpointAndNoPath) {
  write_checkpoint(3);
  settings_.directory = folder_.path("inner");
  make_directories(folder_.path("inner"));
  const std::string names[] = {"..",
                               "../step-000000003",
                               "/",
                               folder_.path(step_folder(3)),
                               "step-3",
                               "step-000000003/",
                               "./step-000000003",
                               "step-000000003/.",
                               std::string("step-000000003\0", 15),
                               " "};
  for (const std::string& name : names) {
    const Error error = error_of([&] { origin(of_run(9, name)); });
    EXPECT_EQ(error.code(), Code::kUsage) << name;
    EXPECT_THAT(error.message(), HasSubstr("is not the name of a checkpoint's folder")) << name;
  }
}

TEST_F(RunOriginTest, ACheckpointThatCannotBeReadIsTheSameAsNone) {
  write_checkpoint(3);
  damage_manifest(3);
  make_directories(folder_.path(step_folder(4)));
  Error errors[] = {error_of([this] { origin(of_run(9, step_folder(3))); }),
                    error_of([this] { origin(of_run(9, step_folder(4))); }),
                    error_of([this] { origin(of_run(9, step_folder(5))); })};
  for (int64_t step : {3, 4, 5}) {
    EXPECT_EQ(errors[step - 3].code(), Code::kCorrupt) << step;
    EXPECT_EQ(errors[step - 3].message(), cat("checkpoint ", quote(step_folder(step)),
                                              " cannot be read by this server: it is not there, or damaged"));
  }
}

TEST_F(RunOriginTest, ACheckpointOfAnotherJobIsRefusedButOtherServersAreNot) {
  write_checkpoint(3, {{"optimizer", {{"learning_rate", 0.1}}}, {"cluster", {{"servers", 2}}}});
  const CheckpointReader reader(folder_.path(step_folder(3)));
  settings_.job = {{"optimizer", {{"learning_rate", 0.1}}}, {"cluster", {{"servers", 5}}}};
  EXPECT_NO_THROW(check_is_of_job(reader, settings_));
  settings_.job["optimizer"]["learning_rate"] = 0.2;
  const Error error = error_of([&] { check_is_of_job(reader, settings_); });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("learning_rate"));
}

// No other would do: what the log has follows the newest.
TEST_F(RunOriginTest, ALogGoesOnFromTheNewestOrFromNone) {
  EXPECT_EQ(log_origin(), -1);
  write_checkpoint(3);
  write_checkpoint(12);
  EXPECT_EQ(log_origin(), 12);
  damage_manifest(12);
  EXPECT_EQ(log_origin(), -1);
}

TEST_F(RunOriginTest, OnlyDamageIsAWarning) {
  EXPECT_NO_THROW(warn_of_damage(settings_, Error(Code::kCorrupt, "damaged")));
  EXPECT_EQ(error_of([this] { warn_of_damage(settings_, Error(Code::kExhausted, "no memory")); }).code(),
            Code::kExhausted);
}

class FinishedRunTest : public RunOriginTest {
 protected:
  uint64_t read() {
    FinishedRun run(settings_);
    run.read();
    return run.passes();
  }
  int code_of(const std::string& text) {
    write_file(folder_.path("FINISHED"), text);
    return static_cast<int>(error_of([this] { read(); }).code());
  }
};

TEST_F(FinishedRunTest, TheNextProcessKnowsHowManyPassesARunHad) {
  EXPECT_EQ(read(), 0u) << "there is no file";
  FinishedRun run(settings_);
  run.write(12, 12);
  EXPECT_EQ(run.passes(), 12u);
  EXPECT_EQ(read(), 12u);
  EXPECT_EQ(read_file(folder_.path("FINISHED"), 100), "12\n");
  run.forget();
  EXPECT_EQ(run.passes(), 0u);
  EXPECT_EQ(read(), 0u);
  EXPECT_NO_THROW(run.forget()) << "twice";
}

TEST_F(FinishedRunTest, ARunThatEndedEarlyHasDoneAllThatItsTrainersAskedFor) {
  EXPECT_FALSE(FinishedRun(settings_).has_done(0)) << "no run has ended";
  FinishedRun(settings_).write(12, 40);
  FinishedRun next(settings_);
  next.read();
  EXPECT_EQ(next.passes(), 12u);
  EXPECT_TRUE(next.has_done(12));
  EXPECT_TRUE(next.has_done(40));
  EXPECT_FALSE(next.has_done(41));
  next.write(12, 0);
  EXPECT_FALSE(next.has_done(13)) << "nothing is known of what was asked for";
  next.forget();
  EXPECT_FALSE(next.has_done(1));
}

TEST_F(FinishedRunTest, WhatIsNoNumberOfPassesIsRefused) {
  for (const char* text : {"", "\n", "x\n", "-1\n", "1.5\n", "1 \n", " 1\n", "99999999999999999999\n",
                           "5 4\n", "5 x\n", "5 6 7\n"}) {
    EXPECT_EQ(code_of(text), static_cast<int>(Code::kCorrupt)) << text;
  }
  EXPECT_NE(code_of(std::string(101, '1') + "\n"), static_cast<int>(Code::kInternal)) << "longer than any";
}

TEST_F(FinishedRunTest, APrefixOfTheFileIsRefused) {
  for (const char* text : {"1", "12", "12 ", "12 40"})
    EXPECT_EQ(code_of(text), static_cast<int>(Code::kCorrupt)) << text;
}

TEST_F(FinishedRunTest, AFileThatCannotBeWrittenEndsNothing) {
  settings_.directory = folder_.path("not there");
  FinishedRun run(settings_);
  run.write(12, 12);
  EXPECT_EQ(run.passes(), 12u);
  EXPECT_EQ(read(), 0u);
}

}  // namespace
}  // namespace ps::run_origin_test
