// A server that renews its lease on a thread of its own, and an etcd that goes and comes.
#include "membership/etcd_fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "support/fake_etcd.h"
#include "support/scratch_folder.h"

namespace ps::etcd_fence_test {
namespace {

using testing::HasSubstr;

// etcd on a thread of its own; what a test does to it, it does there.
class EtcdFenceTest : public testing::Test {
 protected:
  ~EtcdFenceTest() override {
    network_->loop().stop();
    thread_.join();
  }

  EtcdFenceOptions options(const std::string& name, int num_servers = 1) const {
    return {.url = etcd_.url(),
            .registration = {.num_servers = num_servers,
                             .address = name + ":1",
                             .name = name,
                             .lease_seconds = 1},
            .give_up_after = std::chrono::seconds(20),
            .stop = [] { return false; }};
  }

  // With a clock that the test moves.
  EtcdFenceOptions timed_options(const std::string& name) const {
    EtcdFenceOptions timed = options(name);
    timed.now = [this] { return Time(now_); };
    return timed;
  }
  void pass(Duration duration) { now_ += duration.count(); }

  void in_etcd(const std::function<void(FakeEtcd&)>& action) {
    std::atomic<bool> done = false;
    network_->loop().post([&] {
      action(etcd_);
      done = true;
      done.notify_one();
    });
    done.wait(false);
  }

  // Looks again and again, for up to 20 s.
  static bool comes(const std::function<bool()>& what) {
    const double begin = monotonic_seconds();
    while (!what()) {
      if (monotonic_seconds() - begin > 20) return false;
      std::this_thread::yield();
    }
    return true;
  }

  int64_t revision_of(const std::string& key) {
    int64_t revision = 0;
    in_etcd([&](const FakeEtcd& etcd) {
      const auto found = etcd.store.find(key);
      if (found != etcd.store.end()) revision = found->second.created;
    });
    return revision;
  }

  static constexpr Duration kLease = std::chrono::seconds(1);
  std::atomic<int64_t> now_ = 0;
  Log log_{"test", LogLevel::kError};
  const std::unique_ptr<Transport> network_ = make_network();
  FakeEtcd etcd_{*network_};
  std::thread thread_{[this] { network_->loop().run(); }};
};

TEST_F(EtcdFenceTest, AServerHasItsNumberUntilItEnds) {
  {
    EtcdFence fence(options("a"), log_);
    EXPECT_EQ(fence.number(), 0);
    EXPECT_NO_THROW(fence.claim(0));
    EXPECT_EQ(error_of([&] { fence.claim(1); }).code(), Code::kUnavailable);
    EXPECT_NO_THROW(fence.check());
    EXPECT_GT(revision_of("/job/servers/0"), 0);
  }
  EXPECT_EQ(revision_of("/job/servers/0"), 0);
}

TEST_F(EtcdFenceTest, OneTooManyIsFencedAfterALease) {
  EtcdFence fence(options("a"), log_);
  const Error error = error_of([&] { EtcdFence(options("b"), log_); });
  EXPECT_EQ(error.code(), Code::kFenced);
  EXPECT_THAT(error.message(), HasSubstr("lives (0: a)"));
  EXPECT_FALSE(fence.fenced());
}

TEST_F(EtcdFenceTest, AServerThatIsReplacedAnswersNobody) {
  EtcdFence fence(options("a"), log_);
  in_etcd([](FakeEtcd& etcd) {
    etcd.end_leases();
    etcd.store["/job/servers/0"] = {"{\"address\": \"b:1\", \"name\": \"b\"}", 50, 50, 0};
    etcd.store["/job/generations/0"] = {"b", 2, 50, 0};
  });
  EXPECT_TRUE(comes([&] { return fence.fenced().has_value(); }));
  const Error error = error_of([&] { fence.check(); });
  EXPECT_EQ(error.code(), Code::kFenced);
  EXPECT_THAT(error.message(), HasSubstr("server 0 of the job is b, of generation 50 after"));
}

TEST_F(EtcdFenceTest, AServerThatNobodyReplacedRegistersAnew) {
  EtcdFence fence(options("a"), log_);
  const int64_t before = revision_of("/job/servers/0");
  in_etcd([](FakeEtcd& etcd) { etcd.end_leases(); });
  EXPECT_TRUE(comes([&] { return revision_of("/job/servers/0") > before; }));
  EXPECT_NO_THROW(fence.check());
}

TEST_F(EtcdFenceTest, WithoutEtcdAServerGoesOnAndIsFencedWhenItComesBack) {
  EtcdFence fence(timed_options("a"), log_);
  in_etcd([](FakeEtcd& etcd) { etcd.silent = true; });
  for (Duration time{}; time < 2 * kLease; time += kLease / 5) {
    pass(kLease / 5);
    EXPECT_NO_THROW(fence.check());
  }
  EXPECT_FALSE(fence.fenced());
  in_etcd([](FakeEtcd& etcd) {
    etcd.end_leases();
    etcd.store["/job/generations/0"] = {"b", 2, 50, 0};  // it was here, and is gone
    etcd.silent = false;
  });
  EXPECT_TRUE(comes([&] { return fence.fenced().has_value(); }));
}

TEST_F(EtcdFenceTest, WithoutEtcdAServerThatWasStoppedAnswersNobodyUntilEtcdConfirmsIt) {
  EtcdFence fence(timed_options("a"), log_);
  in_etcd([](FakeEtcd& etcd) { etcd.silent = true; });
  pass(kLease);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(error_of([&] { fence.check(); }).code(), Code::kUnavailable);
    pass(kLease / 5);
  }
  EXPECT_FALSE(fence.fenced());
  in_etcd([](FakeEtcd& etcd) { etcd.silent = false; });
  EXPECT_TRUE(comes([&] { return error_of([&] { fence.check(); }).message().empty(); }));
}

TEST_F(EtcdFenceTest, AServerThatComesBeforeEtcdWaits) {
  in_etcd([](FakeEtcd& etcd) { etcd.silent = true; });
  std::thread later([this] { in_etcd([](FakeEtcd& etcd) { etcd.silent = false; }); });
  EtcdFence fence(options("a"), log_);
  later.join();
  EXPECT_EQ(fence.number(), 0);
}

TEST_F(EtcdFenceTest, AServerThatIsToStopWaitsNoLonger) {
  EtcdFence fence(options("a"), log_);
  EtcdFenceOptions stopped = options("b");
  int asked = 0;
  stopped.stop = [&asked] { return ++asked > 3; };
  EXPECT_LT(EtcdFence(stopped, log_).number(), 0);
}

}  // namespace
}  // namespace ps::etcd_fence_test
