#include "cli/request_signal.h"

#include <gtest/gtest.h>

namespace ps::request_signal_test {
namespace {

TEST(RequestSignal, IsTakenOnceAndDoesNothingElse) {
  RequestSignal request(SIGUSR1);
  EXPECT_FALSE(request.take());
  std::raise(SIGUSR1);
  std::raise(SIGUSR1);
  EXPECT_TRUE(request.take());
  EXPECT_FALSE(request.take());
}

TEST(RequestSignal, SignalsAreToldApart) {
  RequestSignal one(SIGUSR1), other(SIGRTMIN);
  std::raise(SIGRTMIN);
  EXPECT_FALSE(one.take());
  EXPECT_TRUE(other.take());
  EXPECT_FALSE(other.take());
}

TEST(RequestSignal, LeavesTheSignalAsItWas) {
  auto previous = std::signal(SIGUSR1, SIG_IGN);
  { RequestSignal request(SIGUSR1); }
  EXPECT_EQ(std::signal(SIGUSR1, previous), SIG_IGN);
}

}  // namespace
}  // namespace ps::request_signal_test
