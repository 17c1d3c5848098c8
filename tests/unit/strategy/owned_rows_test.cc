// Rows that several trainers own: who trains which, in which order gradients add up, and what is refused.  tests/sim/hybrid_device.cc
// proves that the job has the bits of one whose servers train the rows.
#include "strategy/owned_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
  size_t looks_ahead() const override { return window; }
  void look_ahead(std::span<const KeyPlan> plans) override { told.push_back(plans[1].keys); }
  void end_looking_ahead() override { ++ends; }
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
  size_t window = 0, ends = 0;
  std::vector<std::vector<uint64_t>> told;  // keys

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

// Two passes, in which rank r has 4 + r batches, and batch b has the keys 100 b to 100 b + 39 and 100 b + 50 + r.  The rank
// tells of windows[r] batches before their pulls.
void expect_told(const std::array<size_t, 3>& windows, size_t known_at_first) {
  const std::vector<ParameterSpec> specs = specs_with(false);
  std::vector<FakeStore> stores(3);
  const auto plans_of = [](uint64_t batch, uint64_t rank) {
    std::vector<uint64_t> keys;
    for (uint64_t key = 0; key < 40; ++key) keys.push_back(100 * batch + key);
    keys.push_back(100 * batch + 50 + rank);
    return plans_with(std::move(keys));
  };
  run_ranks(3, [&](int rank, Communicator& communicator) {
    const size_t r = static_cast<size_t>(rank), batches = 4 + r;
    FakeStore& store = stores[r];
    store.window = 2;
    OwnedRows rows(specs, store, communicator);
    std::vector<ParameterView<float>> views;
    for (size_t pass = 0; pass < 2; ++pass) {
      store.told.clear(), store.ends = 0;
      size_t told = 0;
      for (size_t batch = 0; batch < 6; ++batch) {
        while (windows[r] > 0 && told < std::min(batches, batch + 1 + windows[r]))
          rows.look_ahead(plans_of(told++, r));
        if (windows[r] > 0 && told == batches) rows.end_looking_ahead();
        const std::vector<KeyPlan> plans = batch < batches ? plans_of(batch, r) : std::vector<KeyPlan>();
        rows.pull(plans, views);
        ASSERT_GT(store.told.size(), batch);
        EXPECT_EQ(store.told[batch], store.keys_asked) << "another step than the one that was told of";
        if (batch == 0) {
          EXPECT_EQ(store.told.size(), 1 + known_at_first);
        }
        if (!plans.empty()) {
          EXPECT_EQ(views[1].rows[40][1], static_cast<float>(100 * batch + 50 + r));
          std::fill_n(views[1].row_gradients, plans[1].keys.size() * kCols, 1.0f);
        }
        rows.sum_up(plans.empty() ? std::vector<ParameterView<float>>() : views, {.samples = 1, .pass = 0});
        rows.step();
        const float trainers = batch < 4 ? 3 : batch == 4 ? 2 : 1;
        for (uint64_t key : store.keys_asked)
          EXPECT_EQ(store.sums[key], key % 100 < 40 ? trainers : 1) << key;
      }
      EXPECT_EQ(store.ends > 0, windows[2] > 0) << "all trainers have told of their last batches";
      rows.pull({}, views);
      EXPECT_TRUE(store.keys_asked.empty()) << "the pass has ended";
      EXPECT_EQ(store.told.size(), 6u);
    }
  });
}

TEST(OwnedRows, AnOwnerIsToldOfBatchesThatAllTrainersHaveToldOf) {
  expect_told({2, 2, 2}, 2);
  expect_told({2, 1, 2}, 1);
  expect_told({0, 2, 2}, 0);
  expect_told({1, 2, 0}, 0);
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
  const auto message = [](uint32_t batches, bool has_all, const std::vector<uint64_t>& keys) {
    std::string bytes;
    put(bytes, batches);
    put(bytes, static_cast<uint8_t>(has_all));
    encode_keys(keys, bytes);
    return bytes;
  };
  EXPECT_THAT(refusal(message(1, false, {others})),
              HasSubstr(cat("trainer 1 asks for the row of key ", others)));
  EXPECT_THAT(refusal(message(2, false, {})), HasSubstr("a list of 0 keys is cut short"));
  EXPECT_THAT(refusal(message(~0u, false, {})), HasSubstr("trainer 1 has 4294967295 batches at once"));
  EXPECT_THAT(refusal(message(0, false, {}).substr(0, 5)),
              HasSubstr("trainer 1 has no batch, nor its last one"));
  const std::string keys = message(1, true, {});
  EXPECT_THAT(refusal(keys + "x"), HasSubstr("trainer 1 sent too many bytes of keys"));
  EXPECT_NE(refusal(keys.substr(1)), "accepted");
  EXPECT_NE(refusal(""), "accepted");
}

// A key of one byte takes 16 with its two weights, so that a message of 17 MiB asks for more than 256 MiB of rows.
TEST(OwnedRows, ATrainerAsksForNoMoreRowsThanFitIntoTheAnswer) {
  constexpr uint32_t kMost = (256u << 20) / 16;
  const auto message = [](uint32_t count) {
    std::string keys;
    put(keys, uint32_t{1}), put(keys, uint8_t{0});
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
