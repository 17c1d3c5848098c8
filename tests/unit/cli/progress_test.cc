#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ps::progress_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Progress, LineShowsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_line({"pass 1", "samples", 2000}, 500, 10, 80),
            "pass 1 [==========>                             ] 25% 500 samples 50/s 0:30 left");
}

TEST(Progress, LineOfUnknownTotalShowsTimeSoFar) {
  EXPECT_EQ(progress_line({"pass 1", "samples", 0}, 1234567, 100, 80), "pass 1 1.23M samples 12.3k/s 1:40");
}

TEST(Progress, LineFitsAnyWidth) {
  for (int width = 0; width <= 120; ++width) {
    for (double done : {0.0, 1.0, 1999.0, 2000.0, 3000.0, 1e15}) {
      EXPECT_LE(progress_line({"pass 1", "samples", 2000}, done, done / 7, width).size(),
                static_cast<size_t>(width));
    }
  }
}

TEST(Progress, LineKnowsNothingBeforeTheFirstUnit) {
  EXPECT_THAT(progress_line({"pass 1", "samples", 2000}, 0, 0, 100), HasSubstr("0% 0 samples 0/s -:-- left"));
}

TEST(Progress, DrawsAtMostTenTimesASecondAndClearsAtTheEnd) {
  double now = 0;
  Log log("ps-sample", LogLevel::kInfo);
  testing::internal::CaptureStderr();
  {
    Progress progress(log, ProgressMode::kAlways, {"pass 1", "samples", 100}, [&] { return now; });
    for (int step = 1; step <= 100; ++step) {
      now = step * 0.011;
      progress.update(step);
    }
  }
  std::string drawn = testing::internal::GetCapturedStderr();
  size_t lines = 0;
  for (size_t at = 0; (at = drawn.find("pass 1", at)) != std::string::npos; ++at) ++lines;
  EXPECT_GE(lines, 8u);
  EXPECT_LE(lines, 11u);
  EXPECT_THAT(drawn, testing::EndsWith("\r\x1b[K"));
}

TEST(Progress, IsSilentWhenToldOrWhenNobodyWatches) {
  double now = 0;
  Log log("ps-sample", LogLevel::kInfo);
  testing::internal::CaptureStderr();  // a file: not a terminal
  for (ProgressMode mode : {ProgressMode::kOff, ProgressMode::kAuto}) {
    Progress progress(log, mode, {"pass 1", "samples", 100}, [&] { return now += 1; });
    progress.update(50);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ps::progress_test
