// Tokens and certificates are read again for all parts of a process, or for none.
#include "job/credential_renewal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/error.h"

namespace ps::credential_renewal_test {
namespace {

// Asks for renewals, and waits until the one that was asked for has been logged.
class CredentialRenewalTest : public testing::Test {
 protected:
  static Credentials with_token(const std::string& name) {
    Credentials credentials;
    credentials.tokens.push_back({Access::kTrain, name});
    return credentials;
  }

  // Returns what was logged.
  std::string renew() {
    testing::internal::CaptureStderr();
    state_ = kAsked;
    for (int seen = kAsked; seen != kDone; seen = state_) state_.wait(seen);
    return testing::internal::GetCapturedStderr();
  }

  // Whoever asks again has done what was asked before.
  bool take() {
    int asked = kAsked, begun = kBegun;
    if (state_.compare_exchange_strong(asked, kBegun)) return true;
    if (state_.compare_exchange_strong(begun, kDone)) state_.notify_all();
    return false;
  }

  enum { kDone, kAsked, kBegun };
  std::atomic<int> state_ = kDone;
  Log log_{"test", LogLevel::kInfo};
  CredentialRenewal renewal_{[this] { return take(); }, log_};
};

TEST_F(CredentialRenewalTest, EveryPartGetsItsOwn) {
  std::vector<Credentials> got(2);
  const auto first =
      renewal_.watch([] { return with_token("first"); }, [&](const Credentials& read) { got[0] = read; });
  const auto second =
      renewal_.watch([] { return with_token("second"); }, [&](const Credentials& read) { got[1] = read; });
  EXPECT_THAT(renew(), testing::HasSubstr("Read the tokens and certificates again"));
  ASSERT_EQ(got[0].tokens.size(), 1u);
  ASSERT_EQ(got[1].tokens.size(), 1u);
  EXPECT_EQ(got[0].tokens[0].secret, "first");
  EXPECT_EQ(got[1].tokens[0].secret, "second");
}

TEST_F(CredentialRenewalTest, AFileThatDoesNotFitChangesNothing) {
  std::atomic<int> num_set = 0;
  auto count = [&](const Credentials&) { ++num_set; };
  const auto good = renewal_.watch([] { return with_token("good"); }, count);
  const auto bad = renewal_.watch([]() -> Credentials { fail(Code::kUsage, "no such file"); }, count);
  EXPECT_THAT(renew(), testing::HasSubstr("stay as they were: no such file"));
  EXPECT_EQ(num_set, 0);
}

// It may have read its files before they were renewed.
TEST_F(CredentialRenewalTest, APartThatComesLaterReadsOnceMore) {
  int num_set = 0;
  auto count = [&](const Credentials&) { ++num_set; };
  const auto before = renewal_.watch([] { return Credentials(); }, count);
  EXPECT_EQ(num_set, 0);
  renew();
  EXPECT_EQ(num_set, 1);
  const auto after = renewal_.watch([] { return Credentials(); }, count);
  EXPECT_EQ(num_set, 2);
}

TEST_F(CredentialRenewalTest, APartThatIsGoneIsNotAsked) {
  std::atomic<int> num_read = 0;
  auto read = [&] {
    ++num_read;
    return Credentials();
  };
  auto part = renewal_.watch(read, [](const Credentials&) {});
  renew();
  EXPECT_GE(num_read, 1);
  part.reset();
  const int before = num_read;
  renew();
  EXPECT_EQ(num_read, before);
}

}  // namespace
}  // namespace ps::credential_renewal_test
