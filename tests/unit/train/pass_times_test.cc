// The parts of the time of a pass.
#include "train/pass_times.h"

#include <gtest/gtest.h>

#include "config/json.h"

namespace ps::pass_times_test {
namespace {

// A store whose times a test sets.
class TimedStore final : public ParameterStore {
 public:
  void pull(std::span<const KeyPlan>, PullMode, std::vector<ParameterView<float>>&) override {}
  void push(std::span<const KeyPlan>, std::span<const ParameterView<float>>, const StepInfo&) override {}
  double learning_rate() const override { return 0; }
  void end_pass(int64_t) override {}
  std::vector<uint64_t> keys(int) override { return {}; }
  void read_rows(int, std::span<const uint64_t>, float*) override {}
  void read_all(int, float*) override {}
  RowReport row_report(int) override { return {}; }
  void load_rows(int, std::span<const uint64_t>, const float*) override {}
  void load_all(int, const float*) override {}
  StoreTimes times() const override { return spent; }

  StoreTimes spent = {100, 200};
};

// A trainer that measures something of its own in the middle of a pass, with a store that talks to servers.
TEST(PassTimes, WhatTheStoreDoesInTimeThatIsLeftOutBelongsToNoPart) {
  TimedStore store;
  PassTimes times(store);
  const int answer = times.leaving_out([&] {
    store.spent = {150, 260};
    return 42;
  });
  EXPECT_EQ(answer, 42);
  Json parts = times.json();
  EXPECT_EQ(parts["waiting_seconds"], 0);
  EXPECT_EQ(parts["communicating_seconds"], 0);
  EXPECT_EQ(parts["computing_seconds"], parts["seconds"]);
  store.spent = {152, 263};
  parts = times.json();
  EXPECT_EQ(parts["waiting_seconds"], 2);
  EXPECT_EQ(parts["communicating_seconds"], 3);
}

}  // namespace
}  // namespace ps::pass_times_test
