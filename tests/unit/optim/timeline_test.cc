#include "optim/timeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace ps::timeline_test {
namespace {

// One step by the definition: gradient l2 w, or that much less of the weight, momentum, L1.
void step_by_hand(const IdleRule& rule, double rate, IdleWeight& x) {
  double gradient = rule.decoupled ? 0 : rule.l2 * x.weight, k = rule.momentum;
  double m = k * x.momentum - rate * gradient;
  double kept = rule.decoupled ? x.weight - rate * rule.l2 * x.weight : x.weight;
  double w = kept + (rule.nesterov ? k * m - rate * gradient : m), s = rate * rule.l1;
  w = w > s ? w - s : w < -s ? w + s : 0;
  x = {w, m, x.sum + w};
}

using Rates = std::vector<double>;

Rates constant(int64_t steps) {
  return Rates(static_cast<size_t>(steps), 0.01);
}

// Constant for a while, then different at every step, with pauses at zero, then constant again,
// at one value after the other from one leaf to the next.
Rates changing(int64_t steps) {
  Rates out;
  for (int64_t t = 0; t < steps; ++t) {
    double wave = 0.01 * (1 + std::sin(static_cast<double>(t) / 50));
    double flat = t < 1792 ? 0.01 : 0.02;
    out.push_back(t < 300 || t > 1500 ? flat : t % 400 < 40 ? 0 : wave);
  }
  return out;
}

void fill(Timeline& timeline, const Rates& rates) {
  for (double rate : rates) timeline.append(rate);
}

std::vector<IdleRule> rules() {
  std::vector<IdleRule> out;
  for (double momentum : {0.0, 0.5, 0.9, 0.99}) {
    for (double l1 : {0.0, 0.01, 0.3}) {
      for (double l2 : {0.0, 0.05, 5.0}) {  // with 5 and momentum, weights swing around zero
        for (bool nesterov : {false, true}) {
          for (bool decoupled : {false, true}) out.push_back({momentum, nesterov, l1, l2, decoupled});
        }
      }
    }
  }
  return out;
}

void expect_equal(const IdleWeight& found, const IdleWeight& expected) {
  EXPECT_NEAR(found.weight, expected.weight, 1e-11);
  EXPECT_NEAR(found.momentum, expected.momentum, 1e-11);
  EXPECT_NEAR(found.sum, expected.sum, 1e-8);  // of up to 2000 weights
}

TEST(Timeline, TakesWeightsWhereSingleStepsTakeThem) {
  Rates rates = changing(2000);
  Random random(1, 2);
  for (const IdleRule& rule : rules()) {
    Timeline timeline(rule, true), without_sums(rule, false);
    fill(timeline, rates);
    fill(without_sums, rates);
    for (int i = 0; i < 40; ++i) {
      int64_t from = static_cast<int64_t>(random.below(2000)),
              to = from + static_cast<int64_t>(random.below(2001 - from));
      IdleWeight start{i % 5 == 0 ? 0 : random.normal(), i % 7 == 0 ? 0 : 0.1 * random.normal(), 0};
      IdleWeight expected = start, found = start, whole = start;
      for (int64_t t = from; t < to; ++t) step_by_hand(rule, rates[static_cast<size_t>(t)], expected);
      SCOPED_TRACE(cat("momentum ", rule.momentum, rule.nesterov ? " nesterov" : "",
                       rule.decoupled ? " decoupled" : "", " l1 ", rule.l1, " l2 ", rule.l2, " from ", from,
                       " to ", to, " weight ", start.weight, " momentum ", start.momentum));
      timeline.advance(found, from, to);
      expect_equal(found, expected);
      IdleWeight other = start;
      without_sums.advance(other, from, to);
      other.sum = expected.sum;
      if (rule.momentum == 0) other.momentum = expected.momentum;  // not followed: nothing depends on it
      expect_equal(other, expected);
      IdleMap map = timeline.between(from, to);
      if (rule.l1 == 0) {
        map.apply_linear(whole);
        expect_equal(whole, expected);
      } else if (map.apply(whole)) {  // a map that vouches for itself must be right
        expect_equal(whole, expected);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(Timeline, ComposesMapsInLogarithmicNumber) {
  Timeline timeline({0.9, false, 0.01, 0.01}, true);
  fill(timeline, changing(200000));
  for (int64_t from = 0; from < 199900; from += 997) {
    double levels = std::log2(static_cast<double>(200000 - from) / 64 + 1);
    EXPECT_LE(timeline.num_pieces(from, 200000), 64 + 2 * levels);
    EXPECT_LE(timeline.num_pieces(100, 100 + from), 126 + 2 * std::log2(static_cast<double>(from) / 64 + 1));
  }
}

TEST(Timeline, FollowsWeightsThatL1StopsInLogarithmicTime) {
  constexpr int64_t kSteps = 1 << 18;
  for (double momentum : {0.0, 0.9, 0.99}) {
    for (double l2 : {0.0, 0.01}) {
      IdleRule rule{momentum, false, 0.001, l2};
      Timeline timeline(rule, true);
      fill(timeline, Rates(kSteps, 0.01));
      for (double weight : {2.0, 0.5, 0.01, 0.0}) {
        for (double m : {0.0, 0.05, -0.05, -0.3}) {
          IdleWeight state{weight, m, 0};
          // 63 single steps to the first leaf, a leaf at each change of sign, blocks between.
          EXPECT_LT(timeline.advance(state, 1, kSteps), 1000)
              << "momentum " << momentum << " l2 " << l2 << " weight " << weight << " m " << m;
        }
      }
    }
  }
}

TEST(Timeline, KeepsAConstantRateInNoSpace) {
  Timeline timeline({0.9, false, 0.001, 0.01}, true);
  uint64_t empty = timeline.memory_bytes();
  for (int64_t t = 0; t < 10'000'000; ++t) timeline.append(0.01);
  EXPECT_LT(timeline.memory_bytes() - empty, 8192u);
  EXPECT_LT(timeline.num_pieces(1, 10'000'000), 110);
}

TEST(Timeline, KeepsAChangingRateInAFewBytesAStep) {
  Timeline timeline({0.9, false, 0.001, 0.01}, true);
  for (int t = 0; t < 1'000'000; ++t) timeline.append(0.01 / (1 + 1e-5 * t));
  EXPECT_LT(timeline.memory_bytes(), 13'000'000u);
}

TEST(Timeline, NeedsNoRatesWithoutDecay) {
  Timeline timeline({0.9, false, 0, 0}, true);
  uint64_t empty = timeline.memory_bytes();
  for (int t = 0; t < 100'000; ++t) timeline.append(0.01 / (1 + 1e-5 * t));
  EXPECT_LT(timeline.memory_bytes() - empty, 8192u);
}

TEST(Timeline, AnswersManyThreadsAlike) {
  Timeline timeline({0.9, false, 0.001, 0.01}, true);
  fill(timeline, changing(3000));
  std::vector<IdleMap> expected;
  Timeline other({0.9, false, 0.001, 0.01}, true);
  fill(other, changing(3000));
  for (int64_t from = 0; from < 3000; ++from) expected.push_back(other.between(from, 3000));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) {
        for (int64_t from = 0; from < 3000; ++from) {
          count += timeline.between(from, 3000) == expected[static_cast<size_t>(from)] ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(Timeline, GivesUpOnWeightsThatAreNotFinite) {
  Timeline timeline({0.9, false, 0.001, 0.01}, true);
  fill(timeline, constant(100000));
  IdleWeight state{NAN, 0, 0};
  EXPECT_EQ(timeline.advance(state, 0, 100000), 0);
  EXPECT_TRUE(std::isnan(state.weight));
}

TEST(Timeline, RefusesDecayThatTurnsSigns) {
  Timeline timeline({0, false, 0, 3}, false);
  timeline.append(0.3);
  EXPECT_THROW(timeline.append(0.4), Error);
  EXPECT_EQ(timeline.steps(), 1);
}

}  // namespace
}  // namespace ps::timeline_test
