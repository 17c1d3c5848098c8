#include "train/emulated_computation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/memory.h"
#include "optim/synthetic_parameter.h"

namespace ps::emulated_computation_test {
namespace {

std::vector<ParameterSpec> parameters() {
  return {synthetic_parameter("matrix", ParameterKind::kMatrix, false, 300, 400),
          synthetic_parameter("rows", ParameterKind::kRows, true, 1000, 4)};
}

struct Gradients {
  std::vector<float> matrix = std::vector<float>(300 * 400, 7), rows = std::vector<float>(3 * 4, 7);
  std::vector<ParameterView<float>> views() {
    return {{.gradient = matrix.data()}, {.row_gradients = rows.data()}};
  }
};

PreparedBatch batch(int64_t step) {
  PreparedBatch prepared;
  prepared.step = step;
  prepared.batch.labels.resize(5);
  prepared.plans.resize(2);
  prepared.plans[1].keys = {4, 9, 11};
  return prepared;
}

TEST(EmulatedComputation, GradientsAreSmallNoiseOfTheBatchesNumber) {
  const auto specs = parameters();
  EmulatedComputation computation(0, specs, {2, 1});
  Gradients first, again, other;
  EXPECT_EQ(computation.run(batch(3), first.views()), 0);
  computation.finish_gradients(batch(3), first.views(), nullptr);
  computation.finish_gradients(batch(3), again.views(), nullptr);
  computation.finish_gradients(batch(4), other.views(), nullptr);
  EXPECT_EQ(first.matrix, again.matrix);
  EXPECT_EQ(first.rows, again.rows);
  EXPECT_NE(first.matrix, other.matrix);
  EXPECT_NE(first.rows, other.rows);
  double sum = 0;
  for (const float value : first.matrix) {
    ASSERT_LE(std::fabs(value), 0.001f);
    sum += std::fabs(value);
  }
  EXPECT_NEAR(sum / static_cast<double>(first.matrix.size()), 0.0005, 0.00001);
  EXPECT_EQ(computation.predictions().rows, 5);
  EXPECT_EQ(computation.predictions().cols, 2);
}

TEST(EmulatedComputation, ABatchTakesItsTimeAndNoProcessor) {
  const auto specs = parameters();
  EmulatedComputation computation(0.2, specs, {1, 1});
  Gradients gradients;
  const double begin = monotonic_seconds(), cpu = process_cpu_seconds();
  computation.run(batch(1), gradients.views());
  computation.finish_gradients(batch(1), gradients.views(), nullptr);
  EXPECT_GE(monotonic_seconds() - begin, 0.2);
  EXPECT_LT(process_cpu_seconds() - cpu, 0.1);
}

// The rows are a ten-thousandth of the values, and come when backward begins: soon, unless the machine is busy.
TEST(EmulatedComputation, GradientsComeDuringBackwardTheLastOnesFirst) {
  const auto specs = parameters();
  EmulatedComputation computation(0.15, specs, {1, 1});
  bool soon = false;
  for (int tries = 0; tries < 40 && !soon; ++tries) {
    Gradients gradients;
    const double begin = monotonic_seconds();
    computation.run(batch(1), gradients.views());
    std::vector<size_t> order;
    std::vector<double> at;
    computation.finish_gradients(batch(1), gradients.views(), [&](size_t parameter) {
      order.push_back(parameter);
      at.push_back(monotonic_seconds() - begin);
      const auto& values = parameter == 0 ? gradients.matrix : gradients.rows;
      EXPECT_EQ(std::count(values.begin(), values.end(), 7.0f), 0);
      EXPECT_EQ(gradients.matrix[0] == 7, parameter == 1) << "the matrix comes last";
    });
    ASSERT_EQ(order, (std::vector<size_t>{1, 0}));
    EXPECT_GE(at[0], 0.05);
    EXPECT_GE(at[1], 0.15);
    soon = at[0] < 0.1;
  }
  EXPECT_TRUE(soon);
}

}  // namespace
}  // namespace ps::emulated_computation_test
