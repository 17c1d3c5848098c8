// Pauses between tries, and bytes a second.
#include <gtest/gtest.h>

#include <set>

#include "net/backoff.h"
#include "net/token_bucket.h"

namespace ps::rate_test {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DelaysDoubleUpToTheLongestAndBeginAnew) {
  Backoff backoff({.first = 100ms, .longest = 1s}, Random(1, 1));
  for (Duration full : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    Duration delay = backoff.next();
    EXPECT_GE(delay, full / 2);
    EXPECT_LE(delay, full);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), 100ms);
}

TEST(Backoff, ThoseWhoLostTheSameServerDoNotReturnInStep) {
  std::set<Duration> delays;
  for (uint64_t seed = 0; seed < 100; ++seed)
    delays.insert(Backoff(BackoffOptions(), Random(seed, 7164)).next());
  EXPECT_GT(delays.size(), 95u);
}

TEST(TokenBucket, ABurstPassesAtOnceAndTheRestAtTheRate) {
  TokenBucket bucket(1000, 500);
  EXPECT_EQ(bucket.take(10s, 500), 10s);
  EXPECT_EQ(bucket.take(10s, 1000), 11s);
  EXPECT_EQ(bucket.take(10s, 1000), 12s) << "calls are served in their order";
}

TEST(TokenBucket, TokensThatWereNotUsedAreKeptUpToABurst) {
  TokenBucket bucket(1000, 500);
  bucket.take(0s, 500);
  EXPECT_EQ(bucket.take(250ms, 250), 250ms);
  EXPECT_EQ(bucket.take(1h, 600), 1h + 100ms);
}

TEST(TokenBucket, OverALongTimeTheRateIsKept) {
  TokenBucket bucket(1e6, 1000);
  Time now = 0s;
  for (int i = 0; i < 1000; ++i) now = bucket.take(now, 1 + i % 7 * 1500);
  double bytes = 0;
  for (int i = 0; i < 1000; ++i) bytes += 1 + i % 7 * 1500;
  EXPECT_NEAR(to_seconds(now), (bytes - 1000) / 1e6, 1e-3);
}

}  // namespace
}  // namespace ps::rate_test
