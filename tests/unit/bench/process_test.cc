#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "bench/process/child.h"
#include "bench/process/files.h"
#include "bench_test.h"

namespace ps::process_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ProcessTest : public testing::Test {
 protected:
  Command shell(const std::string& script) const {
    return {.words = {"/bin/sh", "-c", script}, .output = folder_.path("out"), .errors = folder_.path("err")};
  }

  // Returns the output of a script.
  std::string printed(const std::string& script, bool one_core = false) const {
    Command command = shell(script);
    command.one_core = one_core;
    run_child(command);
    return read_file(command.output);
  }

  const TemporaryFolder folder_{testing::TempDir()};
};

TEST_F(ProcessTest, OutputAndErrorsGoToTheirFiles) {
  EXPECT_EQ(printed("echo out; echo err >&2"), "out\n");
  EXPECT_EQ(read_file(folder_.path("err")), "err\n");
}

TEST_F(ProcessTest, OneThatFailsIsAnErrorWithItsLastLine) {
  std::string message = message_of([&] { run_child(shell("echo first >&2; echo last >&2; exit 3")); });
  EXPECT_THAT(message, StartsWith("1 '/bin/sh -c"));
  EXPECT_THAT(message, HasSubstr("ended with status 3: last"));
  EXPECT_THAT(message_of([&] { run_child(shell("kill -9 $$")); }), HasSubstr("ended by signal 9"));
}

TEST_F(ProcessTest, OneThatIsNotThereIsUnavailable) {
  EXPECT_THAT(message_of([] { run_child({.words = {"ps-no-such-program"}}); }), StartsWith("4 cannot start"));
  EXPECT_EQ(message_of([] { expect_program("ps-no-such-program", "ask elsewhere"); }),
            "4 'ps-no-such-program' is not installed; ask elsewhere");
  EXPECT_EQ(message_of([] { expect_program("true", "it is everywhere"); }), "nothing thrown");
}

TEST_F(ProcessTest, OneThatRunsBesideIsHeardAndEnded) {
  RunningChild child(shell("trap 'exit 0' TERM; echo ready; echo and; while :; do sleep 0.01; done"));
  EXPECT_EQ(child.line(), "ready");
  EXPECT_EQ(child.line(), "and");
  EXPECT_GT(child.end().peak_bytes, 0u);
}

// A pipe holds 64 KiB, so that a program whose output nobody reads would not come to its last word.  Output
// beyond a limit is dropped.
TEST_F(ProcessTest, OneThatPrintsMuchIsNotHeldUp) {
  const std::string file = folder_.path("file");
  RunningChild child(shell(cat("trap 'exit 0' TERM; echo ready; yes | head -c 3000000; touch ", file,
                               "; while :; do sleep 0.01; done")));
  EXPECT_EQ(child.line(), "ready");
  run_child(shell(cat("timeout 30 sh -c 'until test -e ", file, "; do sleep 0.01; done'")));
  for (int line = 0; line < 500000; ++line) ASSERT_EQ(child.line(), "y");
  child.end();
}

TEST_F(ProcessTest, OneThatEndsBeforeItSaysAnythingIsAnError) {
  RunningChild child(shell("echo why >&2; exit 3"));
  EXPECT_THAT(message_of([&] { child.line(); }), HasSubstr("printed nothing: why"));
  EXPECT_THAT(message_of([] { RunningChild({.words = {"ps-no-such-program"}}); }),
              StartsWith("4 cannot start"));
}

TEST_F(ProcessTest, OneThatEndsBadlyIsAnError) {
  RunningChild child(shell("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"));
  child.line();
  EXPECT_THAT(message_of([&] { child.end(); }), HasSubstr("ended with status 3"));
}

TEST_F(ProcessTest, OneThatIsNotEndedGoesWithItsOwner) {
  pid_t process = 0;
  {
    RunningChild child(shell("trap '' TERM; echo $$; while :; do sleep 0.01; done"));
    process = static_cast<pid_t>(std::stol(child.line()));
    EXPECT_EQ(kill(process, 0), 0);
  }
  EXPECT_EQ(kill(process, 0), -1);
}

TEST_F(ProcessTest, PinnedChildHasOneCoreAndItsParentKeepsItsOwn) {
  std::string before = printed("nproc");
  EXPECT_EQ(printed("nproc", true), "1\n");
  EXPECT_EQ(printed("nproc"), before);
}

TEST_F(ProcessTest, TimeOfTheProcessorAndPeakAreThoseOfTheChild) {
  Usage idle = run_child(shell("exit 0"));
  Usage busy = run_child(shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
  EXPECT_GT(busy.cpu_seconds, idle.cpu_seconds);
  // tail keeps all of a line.  A child's peak is at least what its parent holds: much, with sanitizers.
  const uint64_t line = idle.peak_bytes + 100000000;
  Usage large = run_child(shell(cat("head -c ", line, " /dev/zero | tail -n 1 >/dev/null")));
  EXPECT_GT(large.peak_bytes, line);
}

TEST_F(ProcessTest, FolderGoesWithItsOwner) {
  std::string path;
  {
    TemporaryFolder folder(testing::TempDir());
    path = folder.path("");
    write_file(folder.path("file"), "bytes");
    EXPECT_TRUE(is_directory(path));
  }
  EXPECT_FALSE(exists(path));
  EXPECT_THAT(message_of([] { TemporaryFolder folder("/ps-no-such-folder"); }), StartsWith("4 cannot make"));
}

class DataFilesTest : public ProcessTest {
 protected:
  DataFiles files(double scale = 1) const {
    BenchSettings settings{.scale = scale, .cache = folder_.path("cache")};
    return cached_data(settings, {"sparse-binary", "libsvm", forty_ids()}, 50);
  }
};

TEST_F(DataFilesTest, TrainingDataComeFirstAndHeldOutOnesAfterThem) {
  DataFiles made = files();
  EXPECT_EQ(labels_of(made.train).size(), made.samples);
  EXPECT_EQ(labels_of(made.held_out).size(), made.held_out_samples);
  SyntheticData whole =
      make_synthetic({"sparse-binary", "libsvm", forty_ids()}, 1, 50 + made.held_out_samples);
  EXPECT_EQ(read_file(made.train) + read_file(made.held_out), whole.bytes);
  EXPECT_EQ(made.dim, whole.options.dim);
}

TEST_F(DataFilesTest, WhatIsThereIsNotMadeAgain) {
  DataFiles made = files();
  write_file(made.train, "kept");
  EXPECT_EQ(files().train, made.train);
  EXPECT_EQ(read_file(files().train), "kept");
}

TEST_F(DataFilesTest, OtherDataHaveAnotherName) {
  EXPECT_NE(files(1).train, files(2).train);
}

TEST_F(DataFilesTest, EachLineIsRewritten) {
  DataFiles made = files();
  DataFiles rewritten = cached_rewrite(made, ".copy", [](std::string_view line, std::string& out) {
    out += line.substr(0, 1);
    out += '!';
  });
  std::string expected;
  for (float label : labels_of(made.train)) expected += label > 0 ? "1!\n" : "0!\n";
  EXPECT_EQ(read_file(rewritten.train), expected);
  EXPECT_EQ(rewritten.bytes, expected.size());
  EXPECT_TRUE(exists(rewritten.held_out));
}

}  // namespace
}  // namespace ps::process_test
