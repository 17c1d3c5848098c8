// Trainings of ps-bench accuracy that fail, by programs that stand for ps-train and ps-serve.
#include "bench/accuracy/trial_team.h"

#include <filesystem>

#include "base/file.h"
#include "bench_test.h"

namespace ps::trial_team_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TrialTeamTest : public testing::Test {
 protected:
  // Makes every ps-train print this report.
  void print(const std::string& report) {
    for (const char* name : {"ps-train", "ps-serve"}) {
      write_file(folder_.path(name), cat("#!/bin/sh\necho '", report, "'\n"));
      std::filesystem::permissions(folder_.path(name), std::filesystem::perms::owner_all);
    }
  }

  std::string error_of_run() {
    TrialTeam team({.job = "job.json", .data = "data", .ranks = 2}, /*parallel=*/2, folder_.path(""),
                   folder_);
    const AccuracyTrial trial{"all_reduce", {{"type", "all_reduce"}}};
    return message_of([&] {
      team.run({{trial, 1}, {trial, 2}, {trial, 3}}, interrupts_, log_,
               [&](const Training&, const TrialResult&) { ++num_done_; });
    });
  }

  const TemporaryFolder folder_{testing::TempDir()};
  const Interrupts interrupts_{"test", "ending"};
  Log log_{"test", LogLevel::kError};
  int num_done_ = 0;
};

TEST_F(TrialTeamTest, AReportIsRead) {
  print(R"({"passes": [{"batches": 4}], "bytes_sent": 7, "test": {"evaluators": {"auc": 0.5}}})");
  EXPECT_EQ(error_of_run(), "nothing thrown");
  EXPECT_EQ(num_done_, 3);
}

TEST_F(TrialTeamTest, AReportThatLacksAKeyIsAnErrorOfItsTraining) {
  print("{}");
  EXPECT_THAT(error_of_run(), AllOf(HasSubstr("all_reduce, seed "), HasSubstr("'passes' not found")));
  EXPECT_EQ(num_done_, 0);
}

}  // namespace
}  // namespace ps::trial_team_test
