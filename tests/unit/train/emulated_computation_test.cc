#include "train/emulated_computation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"
#include "base/memory.h"
#include "optim/synthetic_parameter.h"

namespace ps {
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
  EmulatedComputation computation(0, specs, 2);
  Gradients first, again, other;
  EXPECT_EQ(computation.run(batch(3), first.views()), 0);
  computation.run(batch(3), again.views());
  computation.run(batch(4), other.views());
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
  EmulatedComputation computation(0.2, specs, 1);
  Gradients gradients;
  const double begin = monotonic_seconds(), cpu = process_cpu_seconds();
  computation.run(batch(1), gradients.views());
  EXPECT_GE(monotonic_seconds() - begin, 0.2);
  EXPECT_LT(process_cpu_seconds() - cpu, 0.1);
}

}  // namespace
}  // namespace ps
