// Removals of rows in slices of any size: the rows that go are those of one call.
#include "table/row_removal.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "config/json.h"
#include "config/spec.h"
#include "optim/optimizer_plan.h"
#include "support/scratch_folder.h"
#include "table/sparse_table.h"

namespace ps::row_removal_test {
namespace {

constexpr uint64_t kMany = UINT64_MAX;

class RowRemovalTest : public testing::Test {
 protected:
  // Rows that have occurred 1 to 7 times; all have been judged once when this ends.
  void make(const char* policy, bool spilled) {
    const Initializer initializer{Distribution::kConstant, 1, 0, 5};
    table_.reset();
    spill_ = std::make_unique<RowSpill>(folder_.path(), uint64_t{64} << 10);
    table_ = std::make_unique<SparseTable>(
        2, 0, initializer, make_optimizer_plan({{"type", "sgd"}}, "sum").make({}),
        RowPolicy::spec().parse(parse_json(policy, "rows"), "rows"), spilled ? spill_.get() : nullptr);
    KeyPlan plan;
    for (uint64_t key = 0; key < 5000; ++key) {
      plan.keys.push_back(key);
      plan.counts.push_back({static_cast<uint32_t>(1 + key % 7), 0});
    }
    const std::vector<float> gradients(2 * plan.keys.size(), 1.0f);
    std::vector<float*> rows(plan.keys.size());
    RowPolicyState& state = *table_->policy();
    state.find_part(plan.keys, /*borrowed=*/false, device_, rows);
    table_->begin_step(1);
    state.train_part({plan.keys, plan.counts, gradients.data()}, rows, 1, device_);
    state.end_parts(/*shrink_asked=*/true);
  }

  // Returns the number of calls.
  int remove(uint64_t rows) {
    for (int calls = 1;; ++calls) {
      uint64_t left = rows;
      if (!table_->policy()->removal().go_on(left, device_)) return calls;
      EXPECT_EQ(left, 0u) << "there was more to do";
    }
  }

  const ScratchFolder folder_;
  Device device_{2, best_cpu_level()};
  std::unique_ptr<RowSpill> spill_;
  std::unique_ptr<SparseTable> table_;
};

TEST_F(RowRemovalTest, SlicesOfAnySizeRemoveTheSameRows) {
  for (const char* policy :
       {R"({"expire": {"below_score": 0.35}})",
        R"({"limit": 4096, "when_full": "evict", "decay": 0.5, "expire": {"below_score": 0.2}})"}) {
    for (const bool spilled : {false, true}) {
      SCOPED_TRACE(cat(policy, " ", spilled));
      make(policy, spilled);
      EXPECT_EQ(remove(kMany), 1);
      const std::vector<uint64_t> keys = table_->sorted_keys();
      const RowReport report = table_->policy()->report();
      std::string state;
      table_->policy()->save(state);
      EXPECT_GT(report.expired, 500u);
      EXPECT_GT(keys.size(), 500u);
      for (const uint64_t rows : {uint64_t{1}, uint64_t{100}, uint64_t{3000}}) {
        make(policy, spilled);
        EXPECT_GT(remove(rows), 2) << rows;
        EXPECT_EQ(table_->sorted_keys(), keys);
        EXPECT_EQ(table_->policy()->report(), report);
        std::string sliced;
        table_->policy()->save(sliced);
        EXPECT_EQ(state, sliced);
      }
      make(policy, spilled);
      uint64_t some = 700;
      EXPECT_TRUE(table_->policy()->removal().go_on(some, device_));
      table_->policy()->removal().finish(device_);
      EXPECT_EQ(table_->sorted_keys(), keys) << "the rest at once";
    }
  }
}

}  // namespace
}  // namespace ps::row_removal_test
