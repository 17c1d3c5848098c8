#include "base/log.h"

#include <gtest/gtest.h>

namespace ps::log_test {
namespace {

template <class Action>
std::string logged(LogLevel level, Action action) {
  testing::internal::CaptureStderr();
  Log log("ps-x", level);
  action(log);
  return testing::internal::GetCapturedStderr();
}

void say_all(Log& log) {
  log.error("e", 1);
  log.warning("w");
  log.info("i");
  log.debug("d");
}

TEST(Log, ShowsItsLevelAndWhatIsGraver) {
  EXPECT_EQ(logged(LogLevel::kError, say_all), "ps-x: error: e1\n");
  EXPECT_EQ(logged(LogLevel::kInfo, say_all), "ps-x: error: e1\nps-x: warning: w\ni\n");
  EXPECT_EQ(logged(LogLevel::kDebug, say_all), "ps-x: error: e1\nps-x: warning: w\ni\nps-x: debug: d\n");
}

TEST(Log, AMessageClearsTheStatusLineFirst) {
  auto talk = [](Log& log) {
    log.status("50%");
    log.info("hello");
    log.info("again");
    log.status("");
  };
  EXPECT_EQ(logged(LogLevel::kInfo, talk), "\r\x1b[K50%\r\x1b[Khello\nagain\n");
}

}  // namespace
}  // namespace ps::log_test
