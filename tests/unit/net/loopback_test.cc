// localhost to listen on: 127.0.0.1 and, where the machine has it, ::1, at one port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "net/network.h"

namespace ps::loopback_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

class LoopbackTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Listener> listen(const Address& address) {
    return network_->listen(address, [this](std::unique_ptr<Stream> stream) { far_ = std::move(stream); });
  }

  // Returns the error of a connection to the address; nothing when it is accepted.
  std::optional<Error> connect(const Address& address) {
    std::optional<Error> failed;
    near_.reset();
    far_.reset();
    auto attempt = network_->connect(address, 5s, [&](std::unique_ptr<Stream> stream, auto error) {
      near_ = std::move(stream);
      failed = std::move(error);
    });
    network_->loop().run_until([&] { return failed || (near_ && far_); },
                               add_time(network_->loop().now(), 10s));
    return failed;
  }

  // The error of listening there; nothing when that can be had.
  std::optional<Error> refusal(const Address& address) {
    try {
      listen(address);
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }

  bool has_ipv6() { return !refusal({"::1", 0}); }

  const std::unique_ptr<Transport> network_ = make_network({.local = GetParam()});
  std::unique_ptr<Stream> near_, far_;
};

TEST_P(LoopbackTest, HasOnePortAtBothAddresses) {
  for (int i = 0; i < 20; ++i) {
    const auto listener = listen({"localhost", 0});
    const uint16_t port = listener->address().port;
    EXPECT_EQ(listener->address().host, "localhost");
    EXPECT_FALSE(connect({"127.0.0.1", port}));
    if (has_ipv6()) {
      EXPECT_FALSE(connect({"::1", port}));
    }
    EXPECT_FALSE(connect({"localhost", port}));
    EXPECT_TRUE(refusal({"localhost", port})) << "it is taken";
  }
}

TEST_P(LoopbackTest, EndsAtBothAddressesWithItsListener) {
  auto listener = listen({"localhost", 0});
  const uint16_t port = listener->address().port;
  listener.reset();
  EXPECT_TRUE(connect({"127.0.0.1", port}));
  EXPECT_TRUE(connect({"::1", port}));
  EXPECT_FALSE(refusal({"localhost", port})) << "it is free again";
}

TEST_P(LoopbackTest, NamesTheAddressAtWhichThePortIsTaken) {
  std::vector<std::string> hosts = {"127.0.0.1"};
  if (has_ipv6()) hosts.push_back("::1");
  for (const std::string& host : hosts) {
    const auto taken = listen({host, 0});
    const std::optional<Error> error = refusal({"localhost", taken->address().port});
    ASSERT_TRUE(error) << host;
    EXPECT_EQ(error->code(), Code::kUnavailable);
    EXPECT_THAT(error->message(), StartsWith("cannot listen on"));
    EXPECT_THAT(error->message(), HasSubstr(to_text(taken->address())));
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, LoopbackTest, testing::Bool(),
                         [](const auto& each) { return std::string(each.param ? "local" : "tcp"); });

}  // namespace
}  // namespace ps::loopback_test
