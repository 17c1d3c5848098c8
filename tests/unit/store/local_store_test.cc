#include "store/local_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ps::local_store_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OptimizerPlan sgd() {
  return make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 1}}, "mean");
}

ParameterSpec parameter(ParameterKind kind, bool sparse, int64_t rows, int64_t cols) {
  ParameterSpec spec;
  spec.name = sparse ? "table" : "matrix";
  spec.kind = kind;
  spec.sparse = sparse;
  spec.rows = rows;
  spec.cols = cols;
  return spec;
}

class LocalStoreTest : public testing::Test {
 protected:
  void make(const std::vector<ParameterSpec>& parameters, const OptimizerPlan& plan) {
    store_ = std::make_unique<LocalStore>(parameters, plan, UINT64_MAX, device_);
    plans_.assign(parameters.size(), {});
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].kind != ParameterKind::kRows) continue;
      KeyList list{offsets_, keys_};
      KeyPlanner().plan({&list, 1}, plans_[p]);
    }
  }

  void step(int64_t samples) {
    store_->pull(plans_, PullMode::kTrain, views_);
    for (size_t p = 0; p < plans_.size(); ++p) {
      if (views_[p].row_gradients != nullptr)
        std::fill_n(views_[p].row_gradients, plans_[p].keys.size() * 2, 3.0f);
      if (views_[p].gradient != nullptr) std::fill_n(views_[p].gradient, 4, 4.0f);
    }
    store_->push(plans_, views_, {samples, 0});
  }

  Device device_{2, best_cpu_level()};
  std::vector<uint64_t> keys_ = {5, 9};
  std::vector<uint32_t> offsets_ = {0, 2};
  std::vector<KeyPlan> plans_;
  std::vector<ParameterView<float>> views_;
  std::unique_ptr<LocalStore> store_;
};

TEST_F(LocalStoreTest, PushMovesMatrixAndPulledRowsAlone) {
  make({parameter(ParameterKind::kMatrix, false, 2, 2), parameter(ParameterKind::kRows, true, 0, 2)}, sgd());
  step(2);
  std::vector<float> matrix(4), rows(4);
  store_->read_all(0, matrix.data());
  EXPECT_THAT(matrix, ElementsAre(-2, -2, -2, -2));
  EXPECT_THAT(store_->keys(1), ElementsAre(5, 9));
  store_->read_rows(1, std::vector<uint64_t>{9, 77}, rows.data());
  EXPECT_THAT(rows, ElementsAre(-1.5, -1.5, 0, 0));
}

TEST_F(LocalStoreTest, NormOfEachParameterIsClippedAfterTheScale) {
  OptimizerPlan plan = sgd();
  plan.clip_norm = 2;
  make({parameter(ParameterKind::kMatrix, false, 2, 2)}, plan);
  step(2);  // gradient 4 x 0.5 in four elements: norm 4, halved
  std::vector<float> matrix(4);
  store_->read_all(0, matrix.data());
  EXPECT_THAT(matrix, ElementsAre(-1, -1, -1, -1));
}

TEST_F(LocalStoreTest, GlobalNormIsThatOfAllGradientsTogether) {
  OptimizerPlan plan = sgd();
  plan.clip_global_norm = 1;
  make({parameter(ParameterKind::kMatrix, false, 2, 2), parameter(ParameterKind::kRows, true, 0, 2)}, plan);
  step(1);  // 4 elements of 4 and 4 of 3: norm 10
  std::vector<float> matrix(4), rows(2);
  store_->read_all(0, matrix.data());
  store_->read_rows(1, std::vector<uint64_t>{5}, rows.data());
  EXPECT_THAT(matrix, testing::Each(testing::FloatNear(-0.4f, 1e-6f)));
  EXPECT_THAT(rows, testing::Each(testing::FloatNear(-0.3f, 1e-6f)));
}

TEST_F(LocalStoreTest, DenseModelTooLargeIsRefusedBeforeAnythingIsAllocated) {
  std::vector<ParameterSpec> parameters = {parameter(ParameterKind::kRows, false, 18182296, 256)};
  try {
    LocalStore store(parameters, sgd(), uint64_t{1} << 30, device_);
    FAIL() << "18.6 GB fit in 1 GiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kExhausted);
    EXPECT_THAT(error.message(), HasSubstr("18618671104 bytes"));
    EXPECT_THAT(error.message(), HasSubstr("1073741824 bytes"));
    EXPECT_THAT(error.message(), HasSubstr("\"sparse_update\": true"));
  }
}

TEST_F(LocalStoreTest, RowsReachedByIdsTrainTheSameSparseAndDense) {
  make({parameter(ParameterKind::kRows, true, 20, 2), parameter(ParameterKind::kRows, false, 20, 2)}, sgd());
  for (int i = 0; i < 3; ++i) step(1);
  std::vector<float> sparse(2), dense(40);
  store_->read_rows(0, std::vector<uint64_t>{9}, sparse.data());
  store_->read_all(1, dense.data());
  EXPECT_THAT(sparse, ElementsAre(dense[18], dense[19]));
  EXPECT_NE(dense[18], 0);
}

// So it is with servers, and in a later batch: the rate of the steps that follow is the same.
TEST_F(LocalStoreTest, AFirstBatchWithoutKeysIsAStep) {
  const OptimizerPlan adam = make_optimizer_plan({{"type", "adam"}, {"learning_rate", 1}}, "mean");
  keys_.clear(), offsets_ = {0, 0};
  make({parameter(ParameterKind::kRows, true, 0, 2), parameter(ParameterKind::kRows, false, 20, 2)}, adam);
  for (int64_t steps = 1; steps < 3; ++steps) {
    step(1);
    for (int p = 0; p < 2; ++p) EXPECT_EQ(store_->optimizer(p).steps(), steps);
  }
}

}  // namespace
}  // namespace ps::local_store_test
