// Servers that take their places, and trainers that find them, by etcd.
#include "membership/server_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/wait_stopped.h"
#include "membership/server_lease.h"
#include "support/fake_etcd.h"
#include "support/scratch_folder.h"

namespace ps::server_finder_test {
namespace {

using testing::HasSubstr;

// etcd on a thread of its own.
class ServerFinderTest : public testing::Test {
 protected:
  ~ServerFinderTest() override {
    network_->loop().stop();
    thread_.join();
  }

  ServerFinderOptions options(int num_servers) const {
    return {.discovery = etcd_.url().text, .num_servers = num_servers, .timeout = 20, .stop = [] {
              return false;
            }};
  }
  ServerLeaseOptions lease_options(uint16_t port, int num_servers) const {
    return {.discovery = etcd_.url().text,
            .num_servers = num_servers,
            .host = "localhost",
            .port = port,
            .etcd_timeout_seconds = 20,
            .stop = [] { return false; }};
  }

  Log log_{"test", LogLevel::kError};
  const std::unique_ptr<Transport> network_ = make_network();
  FakeEtcd etcd_{*network_};
  std::thread thread_{[this] { network_->loop().run(); }};
};

TEST_F(ServerFinderTest, ServersComeInTheOrderOfTheirNumbers) {
  const ServerLease first(lease_options(1001, 2), log_), second(lease_options(1002, 2), log_);
  EXPECT_EQ(first.number(), 0);
  EXPECT_EQ(second.number(), 1);
  ServerFinder finder(options(2), log_);
  EXPECT_EQ(finder.find(), (std::vector<Address>{{"localhost", 1001}, {"localhost", 1002}}));
  EXPECT_FALSE(finder.moved());
}

TEST_F(ServerFinderTest, TheNumberOfAMissingServerIsToldUntilItIsRegistered) {
  const ServerLease first(lease_options(1001, 2), log_);
  std::optional<ServerLease> second;
  std::vector<std::string> told;
  ServerFinderOptions waiting = options(2);
  waiting.on_missing = [&](const std::string& message) {
    told.push_back(message);
    if (!message.empty() && !second) second.emplace(lease_options(1002, 2), log_);
  };
  EXPECT_EQ(ServerFinder(waiting, log_).find().size(), 2u);
  ASSERT_GE(told.size(), 2u);
  EXPECT_THAT(told.front(), HasSubstr("server 1 of 2 is not registered in etcd://"));
  EXPECT_EQ(told.back(), "");
}

TEST_F(ServerFinderTest, AServerThatIsReplacedHasMoved) {
  std::optional<ServerLease> lease(std::in_place, lease_options(1001, 1), log_);
  ServerFinder finder(options(1), log_);
  EXPECT_EQ(finder.find(), (std::vector<Address>{{"localhost", 1001}}));
  lease.reset();
  lease.emplace(lease_options(1007, 1), log_);
  EXPECT_TRUE(finder.moved());
  EXPECT_EQ(finder.find(), (std::vector<Address>{{"localhost", 1007}}));
}

TEST_F(ServerFinderTest, AServerThatNeverRegistersIsNamed) {
  const ServerLease first(lease_options(1001, 3), log_);
  ServerFinderOptions impatient = options(3);
  impatient.timeout = 0;
  ServerFinder finder(impatient, log_);
  const Error error = error_of([&] { finder.find(); });
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), HasSubstr("server 1, 2 of 3 is not registered"));
}

TEST_F(ServerFinderTest, WaitingEndsWhenTheProcessIsToEnd) {
  ServerFinderOptions stopping = options(1);
  stopping.stop = [] { return true; };
  ServerFinder finder(stopping, log_);
  EXPECT_THROW(finder.find(), WaitStopped);
}

TEST(ServerFinder, WithoutDiscoveryTheServersAreThoseThatAreNamed) {
  Log log("test", LogLevel::kError);
  const std::vector<Address> named = {{"a", 1}, {"b", 2}};
  ServerFinder finder({.servers = named}, log);
  EXPECT_EQ(finder.find(), named);
  EXPECT_FALSE(finder.moved());
  EXPECT_EQ(finder.etcd(), nullptr);
}

TEST(ServerLease, WithoutEtcdAndCheckpointsThereIsNothingToFence) {
  Log log("test", LogLevel::kError);
  ServerLease lease({}, log);
  EXPECT_EQ(lease.fence(), nullptr);
  EXPECT_EQ(lease.files(), nullptr);
  EXPECT_EQ(lease.number(), std::nullopt);
  EXPECT_FALSE(lease.fenced());
}

TEST(ServerLease, AFolderOfCheckpointsFencesItsFiles) {
  Log log("test", LogLevel::kError);
  const ScratchFolder folder;
  ServerLease first({.directory = folder.path(), .host = "localhost", .port = 1}, log);
  ASSERT_NE(first.fence(), nullptr);
  ASSERT_NE(first.files(), nullptr);
  first.fence()->claim(0);
  EXPECT_NO_THROW(first.files()->make_directories(folder.path() + "/mine"));
}

}  // namespace
}  // namespace ps::server_finder_test
