#include "cli/main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <stdexcept>

#include "base/error.h"
#include "cli/interrupts.h"
#include "sample_program.h"

namespace ps::main_test {
namespace {

using testing::ExitedWithCode;
using testing::HasSubstr;
using testing::KilledBySignal;

// Runs the sample program with `body` in this process.
int run_sample(std::vector<const char*> arguments, const Body& body) {
  arguments.insert(arguments.begin(), "ps-sample");
  return run_main(sample_program, static_cast<int>(arguments.size()), arguments.data(), body);
}

int do_nothing(const Flags&, Log&) {
  return 0;
}

struct Outcome {
  int status;
  std::string output, errors;
};

Outcome outcome(std::vector<const char*> arguments, const Body& body) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int status = run_sample(std::move(arguments), body);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Main, ReturnsTheStatusOfTheBody) {
  EXPECT_EQ(outcome({"count"}, do_nothing).status, 0);
  EXPECT_EQ(outcome({"count"}, [](const Flags&, Log&) { return 9; }).status, 9);
}

TEST(Main, SaysWhatAnErrorIsAndExitsWithItsCode) {
  Outcome corrupt =
      outcome({"count"}, [](const Flags&, Log&) -> int { fail(Code::kCorrupt, "torn file 'x'"); });
  EXPECT_EQ(corrupt.status, 5);
  EXPECT_EQ(corrupt.errors, "ps-sample: torn file 'x'\n");
  EXPECT_EQ(outcome({"count"}, [](const Flags&, Log&) -> int { throw std::bad_alloc(); }).status, 6);
  EXPECT_EQ(outcome({"count"}, [](const Flags&, Log&) -> int { throw std::logic_error("odd"); }).status, 1);
  EXPECT_EQ(outcome({"count"}, [](const Flags&, Log&) -> int { throw 3; }).status, 1);
}

TEST(Main, UsageErrorsExitWithTwoAndPointToHelp) {
  Outcome wrong = outcome({"count", "--pases", "3"}, do_nothing);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.errors,
            "ps-sample: unknown flag '--pases' (did you mean '--passes'?); try 'ps-sample --help'\n");
}

TEST(Main, HelpAndVersionGoToStandardOutputWithoutTheBody) {
  auto body = [](const Flags&, Log&) { return 1; };
  for (const char* flag : {"--help", "-h", "--version", "--dump-man-options", "--dump-completion=bash"}) {
    Outcome told = outcome({flag}, body);
    EXPECT_EQ(told.status, 0) << flag;
    EXPECT_THAT(told.output, HasSubstr(flag[2] == 'd' ? "passes" : "ps-sample")) << flag;
    EXPECT_EQ(told.errors, "") << flag;
  }
}

TEST(Main, LogLevelIsThatOfTheFlag) {
  auto body = [](const Flags&, Log& log) {
    log.info("info");
    log.error("error");
    return 0;
  };
  EXPECT_EQ(outcome({"count", "--log-level", "error"}, body).errors, "ps-sample: error: error\n");
  EXPECT_THAT(outcome({"count"}, body).errors, HasSubstr("info\n"));
}

TEST(MainDeathTest, FullDiskUnderStandardOutputExitsWithSix) {
  auto print_to_full_disk = [] {
    if (!std::freopen("/dev/full", "w", stdout)) std::abort();
    std::_Exit(run_sample({"count"}, [](const Flags&, Log&) { return std::puts("result") < 0; }));
  };
  EXPECT_EXIT(print_to_full_disk(), ExitedWithCode(6), "cannot write standard output");
}

TEST(MainDeathTest, ClosedPipeEndsInSilenceAlsoWhereSigpipeWasIgnored) {
  auto print_to_closed_pipe = [] {
    std::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) std::abort();
    close(ends[0]);
    close(ends[1]);
    run_sample({"count"}, [](const Flags&, Log&) { return std::puts("result") < 0; });
  };
  EXPECT_EXIT(print_to_closed_pipe(), KilledBySignal(SIGPIPE), "^$");
}

TEST(InterruptsDeathTest, FirstSignalIsRememberedAndTheSecondEnds) {
  auto interrupt_once = [] {
    Interrupts interrupts("ps-sample", "ending soon");
    if (interrupts.requested() || interrupts.exit_status() != 0) std::_Exit(1);
    std::raise(SIGTERM);
    std::_Exit(interrupts.requested() ? interrupts.exit_status() : 1);
  };
  EXPECT_EXIT(interrupt_once(), ExitedWithCode(128 + SIGTERM), "ps-sample: interrupted: ending soon");
  auto interrupt_twice = [] {
    Interrupts interrupts("ps-sample", "ending soon");
    std::raise(SIGTERM);
    std::raise(SIGINT);
    std::_Exit(0);
  };
  EXPECT_EXIT(interrupt_twice(), KilledBySignal(SIGINT), "ending soon");
}

TEST(InterruptsDeathTest, HandlersAreAsBeforeAfterwards) {
  auto interrupt_after = [] {
    { Interrupts interrupts("ps-sample", "ending soon"); }
    std::raise(SIGINT);
    std::_Exit(0);
  };
  EXPECT_EXIT(interrupt_after(), KilledBySignal(SIGINT), "^$");
}

}  // namespace
}  // namespace ps::main_test
