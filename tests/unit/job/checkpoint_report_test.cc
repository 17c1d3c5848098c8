// Two models are compared table by table.
#include "job/checkpoint_report.h"

#include <gtest/gtest.h>

#include "checkpoint/model/model_source.h"
#include "config/json.h"

namespace ps::checkpoint_report_test {
namespace {

// A model of one table of width 2, in memory.
class OneTableModel final : public ModelSource {
 public:
  OneTableModel(std::vector<uint64_t> keys, std::vector<float> values)
      : tables_{{.name = "w", .sparse = true, .count = keys.size(), .width = 2}} {
    rows_.keys = std::move(keys);
    rows_.values = std::move(values);
  }

  const std::vector<ModelTable>& tables() const override { return tables_; }
  std::unique_ptr<RowCursor> rows(size_t) override { return std::make_unique<OneBlock>(rows_); }
  bool knows_untrained_rows(size_t) const override { return false; }
  void untrained_row(size_t, uint64_t, float*) override {}
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  int index_base() const override { return 0; }

 private:
  class OneBlock final : public RowCursor {
   public:
    explicit OneBlock(const RowBlock& rows) : rows_(rows) {}
    const RowBlock* next() override { return std::exchange(given_, true) ? nullptr : &rows_; }

   private:
    const RowBlock& rows_;
    bool given_ = false;
  };

  const std::vector<ModelTable> tables_;
  RowBlock rows_;
  const std::map<std::string, std::string> metadata_;
};

Json compare(std::vector<float> a, std::vector<float> b) {
  OneTableModel one({3, 7, 9}, std::move(a)), other({3, 7, 9}, std::move(b));
  const Json tables = compare_models(one, other);
  EXPECT_EQ(tables.size(), 1u);
  return tables.at(0);
}

TEST(CheckpointReport, TheLargestDifferenceIsToldWithItsPlace) {
  Json found = compare({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(found["different"], 0);
  EXPECT_FALSE(found.contains("key"));
  found = compare({1, 2, 3, 4, 5, 6}, {1, 2.5, 3, 4, 5, 8});
  EXPECT_EQ(found["different"], 2);
  EXPECT_EQ(found["largest"], 2);
  EXPECT_EQ(found["key"], 9);
  EXPECT_EQ(found["column"], 1);
}

// It need not be in the last column of that row.
TEST(CheckpointReport, TheLargestDifferenceMayBeAnyOfTheFirstRowThatDiffers) {
  for (const float last : {6.0f, 6.5f}) {
    const Json found = compare({1, 2, 3, 4, 5, 6}, {1, 2, 7, 4.25f, 5, last});
    EXPECT_EQ(found["largest"], 4) << last;
    EXPECT_EQ(found["key"], 7);
    EXPECT_EQ(found["column"], 0);
  }
}

}  // namespace
}  // namespace ps::checkpoint_report_test
