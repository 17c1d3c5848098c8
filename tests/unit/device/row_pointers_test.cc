// A cache passes pointers to its rows on to the step of a batch while these rows are where they were when it was pulled, and
// drops them otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "device/row_cache.h"
#include "store/local_store.h"

namespace ps::row_pointers_test {
namespace {

constexpr int64_t kWidth = 2;

std::vector<ParameterSpec> one_table() {
  ParameterSpec spec;
  spec.name = "table";
  spec.kind = ParameterKind::kRows;
  spec.sparse = true;
  spec.cols = kWidth;
  return {spec};
}

class RowPointers : public testing::Test {
 protected:
  // Trains the keys 1, 2, …, whose rows go to the store and come back between pull and push if `returns`.  Returns true if the
  // push passes the pointers on.
  bool passes_pointers(size_t num_keys, bool returns) {
    KeyPlan plan;
    plan.keys.resize(num_keys);
    std::iota(plan.keys.begin(), plan.keys.end(), 1);
    std::vector<ParameterView<float>> views;
    store_.pull({&plan, 1}, PullMode::kTrain, views);
    std::vector<float> weights(num_keys * kWidth);
    cache_.pull(plan.keys, weights.data());
    if (returns) cache_.return_all();
    std::fill_n(views[0].row_gradients, weights.size(), 1.0f);
    store_.push({&plan, 1}, views, {4, 0});
    float* pointer = nullptr;
    return cache_.begin_push(plan.keys, views[0].row_gradients, &pointer).pointers == &pointer;
  }

 private:
  Device processor_{1, best_cpu_level()};
  LocalStore store_{one_table(), make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 0.1}}, "mean"),
                    UINT64_MAX, processor_};
  std::unique_ptr<RowDevice> device_ = make_emulated_device();
  // One bucket.
  RowCache cache_{device_->make_rows({.width = kWidth, .rows = 32, .most_keys = 32}), store_, 0};
};

TEST_F(RowPointers, AreUsedWhileAllRowsOfTheBatchAreWhereTheyWere) {
  EXPECT_TRUE(passes_pointers(3, /*returns=*/false));
  EXPECT_FALSE(passes_pointers(3, /*returns=*/true));
  EXPECT_FALSE(passes_pointers(40, /*returns=*/false));  // two rounds
  EXPECT_TRUE(passes_pointers(3, /*returns=*/false));
}

}  // namespace
}  // namespace ps::row_pointers_test
