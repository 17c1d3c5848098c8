// Messages with rows, as shards read them, and the residuals of rows that are rounded.
#include "ps/client/row_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optim/synthetic_parameter.h"
#include "ps/client/residuals.h"
#include "ps/client/row_exchange.h"
#include "ps/server/snapshot_fields.h"
#include "support/scratch_folder.h"

namespace ps::row_message_test {
namespace {

using testing::ElementsAre;

constexpr int64_t kCols = 3;

std::vector<ParameterSpec> make_specs() {
  return {synthetic_parameter("table", ParameterKind::kRows, true, 0, kCols),
          synthetic_parameter("matrix", ParameterKind::kMatrix, false, 4, kCols),
          synthetic_parameter("statistic", ParameterKind::kStatistic, false, 1, 2)};
}

// A trainer's gradients of keys 5, 6 and 9 and of the dense parameters, in the buffers of a step.
class RowMessageTest : public testing::Test {
 protected:
  RowMessageTest() {
    plans_[0].keys = {5, 6, 9};
    for (size_t floats : {size_t{9}, size_t{12}, size_t{2}}) {
      gradients_.push_back(std::make_shared<Buffer>(pool_.take(floats * sizeof(float))));
      for (size_t i = 0; i < floats; ++i)
        floats_of(gradients_.size() - 1)[i] = 0.1f * static_cast<float>(i + 1);
    }
    residuals_.find(plans_);
  }

  float* floats_of(size_t p) { return reinterpret_cast<float*>(gradients_[p]->data()); }

  // The push of this to the only shard, in rows of a type; all parameters in one message.
  PushRequest push(RowType type) {
    router_.begin();
    router_.add_keys(0, plans_[0].keys);
    for (size_t p : {1, 2}) router_.add_all(p);
    router_.end();
    const Bundle& bundle = router_.bundles(0).at(0);
    const RowSource source{.begin = [this](const RoutedRows& routed) { return floats_of(routed.parameter); },
                           .gradients = &gradients_,
                           .type = type,
                           .residuals = &residuals_};
    payload_ = make_row_message({specs_, router_, pool_, best_cpu_level()},
                                encode_push({.type = type}, bundle.num_row_slices(), bundle.push_slices()), 0,
                                bundle, source);
    std::string body(payload_.head.data(), payload_.head.size());
    for (ConstBytes part : payload_.parts) body.append(part.data(), part.size());
    PushRequest request = decode_push(to_buffer(pool_, body), widths_);
    if (type != RowType::kF32) decode_floats(request, widths_, pool_);
    return request;
  }
  static std::vector<float> rows(const PushRequest& request, size_t slice, size_t count) {
    const float* floats = request.floats(request.row_slices[slice]);
    return {floats, floats + count};
  }
  std::vector<float> sent(size_t p, size_t count) { return {floats_of(p), floats_of(p) + count}; }

  const std::vector<ParameterSpec> specs_ = make_specs();
  const std::vector<int64_t> widths_ = {kCols, kCols, 2};
  std::vector<KeyPlan> plans_ = std::vector<KeyPlan>(3);
  BufferPool pool_;
  BatchRouter router_{specs_, {ShardPlace()}};
  GradientBuffers gradients_;
  const RowTypes types_{.push = RowType::kF16};
  Residuals residuals_{specs_, types_};
  Payload payload_;
};

TEST_F(RowMessageTest, AShardReadsTheGradientsOfEverySlice) {
  const PushRequest request = push(RowType::kF32);
  ASSERT_EQ(request.row_slices.size(), 3u);
  EXPECT_THAT(request.row_slices[0].keys, ElementsAre(5, 6, 9));
  EXPECT_EQ(rows(request, 0, 9), sent(0, 9));
  EXPECT_EQ(rows(request, 1, 12), sent(1, 12));
  EXPECT_EQ(rows(request, 2, 2), sent(2, 2));
}

TEST_F(RowMessageTest, GradientsInF32AreSentFromWhereTheyLieAndStayUntilThen) {
  push(RowType::kF32);
  const char* const gradients = gradients_[1]->data();
  auto is_inside = [&](ConstBytes part) { return part.data() == gradients; };
  EXPECT_TRUE(std::ranges::any_of(payload_.parts, is_inside));
  EXPECT_GT(gradients_[1].use_count(), 1);
  payload_ = Payload();
  EXPECT_EQ(gradients_[1].use_count(), 1);
}

TEST_F(RowMessageTest, RoundingLeavesItsErrorsInTheResiduals) {
  const PushRequest request = push(RowType::kF16);
  for (int64_t position = 0; position < 3; ++position) {
    for (int64_t i = 0; i < kCols; ++i) {
      const size_t at = static_cast<size_t>(position * kCols + i);
      EXPECT_FLOAT_EQ(rows(request, 0, 9)[at] + residuals_.of_position(0, position)[i], sent(0, 9)[at]);
      EXPECT_FLOAT_EQ(rows(request, 1, 12)[at] + residuals_.of_row(1, position)[i], sent(1, 12)[at]);
    }
  }
  EXPECT_NE(residuals_.of_position(0, 0)[0], 0) << "0.1 is no float of 16 bits";
  EXPECT_EQ(rows(request, 2, 2), sent(2, 2)) << "statistics are never rounded";
}

TEST_F(RowMessageTest, TheNextPushSendsWhatRoundingTook) {
  double told = 0;
  for (int step = 0; step < 1000; ++step) told += static_cast<double>(rows(push(RowType::kF16), 0, 1)[0]);
  EXPECT_NEAR(told, 1000 * static_cast<double>(0.1f), 1e-4);
}

TEST(Residuals, AreUsedOnlyWhereGradientsAreRounded) {
  const std::vector<ParameterSpec> specs = make_specs();
  EXPECT_FALSE(Residuals(specs, RowTypes()).used());
  EXPECT_TRUE(Residuals(specs, RowTypes{.push = RowType::kInt8}).used());
}

class ResidualsTest : public testing::Test {
 protected:
  static std::vector<std::string> chunks(const Residuals& residuals) {
    std::vector<std::string> all;
    const std::unique_ptr<StateChunkSource> source = residuals.chunks();
    for (size_t n = 0; n < source->size(); ++n) all.push_back(source->encode(n));
    return all;
  }

  const std::vector<ParameterSpec> specs_ = make_specs();
  const RowTypes types_{.push = RowType::kF16};
  std::vector<KeyPlan> plans_ = std::vector<KeyPlan>(3);
  Residuals residuals_{specs_, types_};
};

TEST_F(ResidualsTest, BelongToTheirKeysWhereverTheseAreInABatch) {
  plans_[0].keys = {5, 9};
  residuals_.find(plans_);
  EXPECT_EQ(residuals_.of_position(0, 1)[2], 0) << "they begin at zero";
  residuals_.of_position(0, 1)[2] = 0.5f;
  plans_[0].keys = {9, 11};
  residuals_.find(plans_);
  EXPECT_EQ(residuals_.of_position(0, 0)[2], 0.5f);
  EXPECT_EQ(residuals_.of_position(0, 1)[2], 0);
}

TEST_F(ResidualsTest, GoOnInAnotherProcessFromTheirChunks) {
  plans_[0].keys = {5, 9};
  residuals_.find(plans_);
  residuals_.of_position(0, 1)[2] = 0.5f;
  residuals_.of_row(1, 3)[0] = 0.25f;
  Residuals again(specs_, types_);
  for (const std::string& chunk : chunks(residuals_)) again.restore(chunk);
  again.find(plans_);
  EXPECT_EQ(again.of_position(0, 1)[2], 0.5f);
  EXPECT_EQ(again.of_position(0, 0)[2], 0);
  EXPECT_EQ(again.of_row(1, 3)[0], 0.25f);
  EXPECT_EQ(chunks(again), chunks(residuals_));
}

TEST_F(ResidualsTest, AChunkThatIsCutIsRefused) {
  plans_[0].keys = {5};
  residuals_.find(plans_);
  const std::string chunk = chunks(residuals_).at(0);
  for (size_t size = 0; size < chunk.size(); ++size) {
    const Error error = error_of([&] { Residuals(specs_, types_).restore(chunk.substr(0, size)); });
    EXPECT_TRUE(error.message().empty() || error.code() == Code::kCorrupt) << size << ": " << error.message();
  }
  EXPECT_EQ(error_of([&] { residuals_.restore(chunk.substr(0, chunk.size() - 1)); }).code(), Code::kCorrupt);
}

TEST_F(ResidualsTest, OfRowsThatWereNotUsedForLongAreDroppedForWantOfMemory) {
  Residuals small(specs_, {.push = RowType::kF16, .error_bytes = 1000});
  for (uint64_t key = 0; key < 1000; ++key) {
    plans_[0].keys = {key};
    small.find(plans_);
  }
  EXPECT_GT(small.dropped(), 900u);
  EXPECT_LE(small.dropped(), 1000u);
  EXPECT_EQ(residuals_.dropped(), 0u);
}

TEST(ForEachRun, CoversTheRowsOfAnOwnerInRunsOfNeighbours) {
  const BlockCyclicRows deal{.rows = 23, .block_rows = 4, .num_owners = 3, .owner = 1};
  for (int64_t first = 0; first < deal.own_rows(); ++first) {
    std::vector<int64_t> rows;
    for_each_run(deal, first, deal.own_rows() - first, [&](int64_t own, int64_t row, int64_t count) {
      EXPECT_EQ(own, first + static_cast<int64_t>(rows.size()));
      for (int64_t n = 0; n < count; ++n) rows.push_back(row + n);
    });
    ASSERT_EQ(rows.size(), static_cast<size_t>(deal.own_rows() - first));
    for (size_t n = 0; n < rows.size(); ++n) EXPECT_EQ(rows[n], deal.global(first + static_cast<int64_t>(n)));
  }
  int runs = 0;
  for_each_run(BlockCyclicRows::whole(100), 10, 50, [&](int64_t, int64_t row, int64_t count) {
    ++runs;
    EXPECT_EQ(row, 10);
    EXPECT_EQ(count, 50);
  });
  EXPECT_EQ(runs, 1) << "an owner alone has all rows in sequence";
}

}  // namespace
}  // namespace ps::row_message_test
