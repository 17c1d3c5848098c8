// Rows that several trainers own: who trains which, in which order gradients add up, and what is refused.  tests/sim/hybrid_device.cc
// proves that the job has the bits of one whose servers train the rows.
#include "strategy/owned_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <thread>

#include "base/error.h"
#include "ps/wire/key_list.h"
#include "ps/wire/row_owner.h"
#include "support/thread_communicator.h"

namespace ps::owned_rows_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kCols = 2;

std::vector<ParameterSpec> specs_with(bool policy) {
  std::vector<ParameterSpec> specs(2);
  specs[0].name = "dense";
  specs[0].rows = specs[0].cols = 1;
  specs[1].name = "table";
  specs[1].kind = ParameterKind::kRows;
  specs[1].sparse = true;
  specs[1].rows = 1000;
  specs[1].cols = kCols;
  if (policy) specs[1].row_policy.emplace();
  return specs;
}

// Gives each row its key as weights, and remembers what it was asked and told.
class FakeStore final : public ParameterStore {
 public:
  void pull(std::span<const KeyPlan> plans, PullMode, std::vector<ParameterView<float>>& views) override {
    keys_asked = plans[1].keys;
    counts = plans[1].counts;
    weights_.resize(keys_asked.size() * kCols);
    gradients_.assign(weights_.size(), -1);
    rows_.clear();
    for (size_t n = 0; n < keys_asked.size(); ++n) {
      rows_.push_back(weights_.data() + n * kCols);
      std::fill_n(rows_.back(), kCols, static_cast<float>(keys_asked[n]));
    }
    views.assign(2, {});
    views[1].rows = rows_.data();
    views[1].row_gradients = gradients_.data();
  }
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override {
    for (size_t n = 0; n < plans[1].keys.size(); ++n)
      sums[plans[1].keys[n]] = views[1].row_gradients[n * kCols];
    pushed = info;
  }
  double learning_rate() const override { return 0; }
  void end_pass(int64_t) override {}
  std::vector<uint64_t> keys(int) override { return {}; }
  void read_rows(int, std::span<const uint64_t>, float*) override {}
  void read_all(int, float*) override {}
  RowReport row_report(int) override { return {}; }
  void load_rows(int, std::span<const uint64_t>, const float*) override {}
  void load_all(int, const float*) override {}

  std::vector<uint64_t> keys_asked;
  std::vector<KeyCount> counts;
  std::map<uint64_t, float> sums;  // by key: the first column
  StepInfo pushed;

 private:
  std::vector<float> weights_, gradients_;
  std::vector<float*> rows_;
};

// Runs body(rank, communicator) on a thread for each rank.
template <class Body>
void run_ranks(int size, const Body& body) {
  auto communicators = make_thread_communicators({.size = size, .algorithm = "direct"});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back(
        [&body, rank, own = std::move(communicators[static_cast<size_t>(rank)])] { body(rank, *own); });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<KeyPlan> plans_with(std::vector<uint64_t> keys, bool counted = false) {
  std::vector<KeyPlan> plans(2);
  if (counted) plans[1].counts.assign(keys.size(), {3, 1});
  plans[1].keys = std::move(keys);
  return plans;
}

// Rank r has keys 0, 1, ..., and the gradient values[r] for each of them.
std::vector<FakeStore> step(std::span<const float> values, uint64_t num_keys) {
  const std::vector<ParameterSpec> specs = specs_with(false);
  std::vector<FakeStore> stores(values.size());
  std::vector<uint64_t> keys(num_keys);
  for (uint64_t key = 0; key < num_keys; ++key) keys[key] = key;
  run_ranks(static_cast<int>(values.size()), [&](int rank, Communicator& communicator) {
    const size_t r = static_cast<size_t>(rank);
    OwnedRows rows(specs, stores[r], communicator);
    std::vector<ParameterView<float>> views;
    const std::vector<KeyPlan> plans = plans_with(keys);
    rows.pull(plans, views);
    EXPECT_EQ(views[0].value, nullptr);
    for (uint64_t key = 0; key < num_keys; ++key) {
      EXPECT_EQ(views[1].rows[key][1], static_cast<float>(key));
      std::fill_n(views[1].row_gradients + key * kCols, kCols, values[r]);
    }
    rows.sum_up(views, {.samples = 10 + rank, .pass = 4, .shrink = rank == 1});
    rows.step();
  });
  return stores;
}

TEST(OwnedRows, EachRowIsTrainedByItsOwnerAloneAndOnce) {
  const std::vector<FakeStore> stores = step(std::vector<float>{1, 2, 4}, 60);
  size_t owned = 0;
  for (size_t r = 0; r < stores.size(); ++r) {
    EXPECT_GT(stores[r].sums.size(), 10u);
    for (const auto& [key, sum] : stores[r].sums) {
      EXPECT_EQ(row_owner(key, 3), static_cast<int>(r)) << key;
      EXPECT_EQ(sum, 7) << key;
    }
    owned += stores[r].sums.size();
    EXPECT_TRUE(std::ranges::is_sorted(stores[r].keys_asked));
    EXPECT_EQ(stores[r].pushed.samples, 33);
    EXPECT_EQ(stores[r].pushed.pass, 4);
    EXPECT_TRUE(stores[r].pushed.shrink);
  }
  EXPECT_EQ(owned, 60u);
}

// In the order of ranks, 1 is lost beside 2^25; in any other, it is not.
TEST(OwnedRows, GradientsOfARowAddUpInTheOrderOfRanks) {
  const float large = 1 << 25;
  for (const FakeStore& store : step(std::vector<float>{large, 1, -large}, 20)) {
    for (const auto& [key, sum] : store.sums) EXPECT_EQ(sum, 0) << key;
  }
  for (const FakeStore& store : step(std::vector<float>{large, -large, 1}, 20)) {
    for (const auto& [key, sum] : store.sums) EXPECT_EQ(sum, 1) << key;
  }
}

TEST(OwnedRows, ATrainerWithoutABatchTrainsTheRowsOfOthers) {
  const std::vector<ParameterSpec> specs = specs_with(true);
  std::vector<FakeStore> stores(3);
  run_ranks(3, [&](int rank, Communicator& communicator) {
    OwnedRows rows(specs, stores[static_cast<size_t>(rank)], communicator);
    std::vector<ParameterView<float>> views;
    std::vector<KeyPlan> plans;
    if (rank == 1) plans = plans_with({1, 2, 3, 4, 5, 6, 7, 8}, /*counted=*/true);
    if (rank == 2) plans = plans_with({4, 5, 6, 7, 8, 9}, /*counted=*/true);
    rows.pull(plans, views);
    if (rank > 0) std::fill_n(views[1].row_gradients, plans[1].keys.size() * kCols, 3.0f);
    rows.sum_up(views, {.samples = rank, .pass = 0});
    EXPECT_EQ(rows.squares()[0], 0);
    EXPECT_EQ(rows.squares()[1], kCols * (5 * 36 + 4 * 9)) << "the same for all";
    rows.step();
  });
  std::map<uint64_t, float> sums;
  for (const FakeStore& store : stores) {
    sums.insert(store.sums.begin(), store.sums.end());
    for (size_t n = 0; n < store.keys_asked.size(); ++n) {
      const bool both = store.keys_asked[n] >= 4 && store.keys_asked[n] <= 8;
      EXPECT_EQ(store.counts[n], (both ? KeyCount{6, 2} : KeyCount{3, 1})) << store.keys_asked[n];
    }
  }
  ASSERT_EQ(sums.size(), 9u);
  EXPECT_EQ(sums[3], 3);
  EXPECT_EQ(sums[4], 6);
  EXPECT_EQ(sums[9], 3);
}

TEST(OwnedRows, AGradientThatIsNotFiniteIsNotSent) {
  const std::vector<ParameterSpec> specs = specs_with(false);
  FakeStore store;
  run_ranks(1, [&](int, Communicator& communicator) {
    OwnedRows rows(specs, store, communicator);
    std::vector<ParameterView<float>> views;
    rows.pull(plans_with({1, 2}), views);
    std::fill_n(views[1].row_gradients, 2 * kCols, 1.0f);
    views[1].row_gradients[2 * kCols - 1] = std::numeric_limits<float>::infinity();
    try {
      rows.sum_up(views, {.samples = 1, .pass = 0});
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData);
      EXPECT_THAT(error.message(), HasSubstr("the gradient of 'table' has values that are not finite"));
    }
  });
}

// Rank 1 sends these bytes in place of its keys; what rank 0 says to that.
std::string refusal(const std::string& sent) {
  const std::vector<ParameterSpec> specs = specs_with(false);
  std::string message = "accepted";
  run_ranks(2, [&](int rank, Communicator& communicator) {
    if (rank == 1) return void(communicator.all_to_all({sent, ""}));
    FakeStore store;
    OwnedRows rows(specs, store, communicator);
    std::vector<ParameterView<float>> views;
    try {
      rows.pull(plans_with({1}), views);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData);
      message = error.message();
    }
  });
  return message;
}

TEST(OwnedRows, WhatNoTrainerOfTheJobSendsIsRefused) {
  uint64_t others = 0;
  while (row_owner(others, 2) == 0) ++others;
  std::string keys;
  encode_keys(std::vector<uint64_t>{others}, keys);
  EXPECT_THAT(refusal(keys), HasSubstr(cat("trainer 1 asks for the row of key ", others)));
  keys.clear();
  encode_keys(std::vector<uint64_t>{}, keys);
  EXPECT_THAT(refusal(keys + "x"), HasSubstr("trainer 1 sent too many bytes of keys"));
  EXPECT_NE(refusal(keys.substr(1)), "accepted");
  EXPECT_NE(refusal(""), "accepted");
}

// A key of one byte takes 16 with its two weights, so that a message of 17 MiB asks for more than 256 MiB of rows.
TEST(OwnedRows, ATrainerAsksForNoMoreRowsThanFitIntoTheAnswer) {
  constexpr uint32_t kMost = (256u << 20) / 16;
  const auto message = [](uint32_t count) {
    std::string keys;
    put(keys, count);
    put_varints(keys, count, [] { return uint64_t{0}; });
    return keys;
  };
  EXPECT_THAT(refusal(message(kMost + 1)),
              HasSubstr(cat("a list of ", kMost + 1, " keys, expected at most ", kMost)));
  EXPECT_THAT(refusal(message(kMost)), HasSubstr("which another trainer owns"));
}

}  // namespace
}  // namespace ps::owned_rows_test
