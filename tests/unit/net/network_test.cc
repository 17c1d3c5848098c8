// A network whose process has no descriptors left.
#include "net/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/environment.h"
#include "support/scratch_folder.h"

namespace ps::network_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Lets this process open so many descriptors more, as long as those below are all in use.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next + more);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Network, WithoutDescriptorsItSaysOnceThatNobodyCanConnectAndGoesOnWhenThereAreSome) {
  if (is_sanitized()) return;
  std::vector<std::string> troubles;
  const auto network =
      make_network({.on_trouble = [&troubles](const std::string& text) { troubles.push_back(text); }});
  Loop& loop = network->loop();
  std::unique_ptr<Stream> near, far;
  const auto listener =
      network->listen({"127.0.0.1", 0}, [&far](std::unique_ptr<Stream> stream) { far = std::move(stream); });
  std::unique_ptr<ConnectAttempt> attempt;
  {
    DescriptorLimit limit(1);
    attempt = network->connect(listener->address(), 5s, [&near](std::unique_ptr<Stream> stream, auto error) {
      ASSERT_FALSE(error) << error->message();
      near = std::move(stream);
    });
    loop.run_until([&] { return near && !troubles.empty(); }, add_time(loop.now(), 10s));
    loop.run_until([] { return false; }, add_time(loop.now(), 200ms));
    EXPECT_FALSE(far);
  }
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_THAT(troubles[0], HasSubstr("no connection can be accepted: too many open files"));
  EXPECT_TRUE(loop.run_until([&] { return far != nullptr; }, add_time(loop.now(), 10s)));
}

TEST(Network, WithoutDescriptorsForItsLoopItSaysSo) {
  if (is_sanitized()) return;
  DescriptorLimit limit(0);
  const Error error = error_of([] { make_network(); });
  EXPECT_EQ(error.code(), Code::kExhausted);
  EXPECT_THAT(error.message(), HasSubstr("too many open files"));
}

}  // namespace
}  // namespace ps::network_test
