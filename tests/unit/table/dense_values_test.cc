// Dense values on one table, and divided over several.
#include "table/dense_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "math/device.h"
#include "optim/optimizer_plan.h"

namespace ps::dense_values_test {
namespace {

constexpr int64_t kRows = 200, kCols = 100;  // five blocks of what a thread updates at a time
constexpr int kSteps = 4;

// Returns the means of rows [first, kRows) after some steps of a table that has these rows alone.  Each step is applied in
// ranges of `range` rows.
std::vector<float> means_of_rows(int64_t first, int64_t range) {
  const auto optimizer =
      make_optimizer_plan(
          {{"type", "momentum"}, {"momentum", 0.9}, {"learning_rate", 0.1}, {"average", {{"begin_step", 1}}}},
          "sum")
          .make({});
  const int64_t rows = kRows - first, count = rows * kCols;
  Device device(2, best_cpu_level());
  DenseValues values(rows, kCols, optimizer.get());
  std::vector<float> floats(static_cast<size_t>(count)), out(static_cast<size_t>(count));
  const auto fill = [&](int step) {
    for (int64_t i = 0; i < count; ++i) {
      floats[static_cast<size_t>(i)] = static_cast<float>(std::sin(first * kCols + i + 1000 * step));
    }
  };
  fill(0);
  values.load_range(0, rows, floats.data(), device);
  for (int step = 1; step <= kSteps; ++step) {
    fill(step);
    values.begin_step(0.1);
    for (int64_t row = 0; row < rows; row += range) {
      const int64_t some = std::min(range, rows - row);
      values.push_range(row * kCols, some * kCols, floats.data() + row * kCols, 1, device);
    }
  }
  values.read_all(out.data(), device);
  return out;
}

// Servers have blocks of the rows of a matrix, of sizes of their own.
TEST(DenseValues, MeansDoNotDependOnHowAMatrixIsDivided) {
  const std::vector<float> whole = means_of_rows(0, kRows);
  for (const int64_t first : {0, 3, 163}) {
    for (const int64_t range : {1, 7, 40, 200}) {
      const std::vector<float> part = means_of_rows(first, range);
      const std::vector<float> same(whole.begin() + first * kCols, whole.end());
      EXPECT_EQ(part, same) << "rows from " << first << " on, in ranges of " << range;
    }
  }
}

// Averages begin with the second of these steps.
TEST(DenseValues, ReadAsBeforeAStepUntilTheirRangeHasMadeIt) {
  const auto optimizer =
      make_optimizer_plan({{"type", "sgd"}, {"average", {{"begin_step", 1}}}}, "sum").make({});
  Device device(2, best_cpu_level());
  DenseValues values(kRows, kCols, optimizer.get());
  constexpr size_t kCount = kRows * kCols, kHalf = kCount / 2 + 10 * kCols;
  std::vector<float> gradient(kCount), before(kCount), between(kCount), after(kCount), rows(2 * kCols);
  for (size_t i = 0; i < kCount; ++i) gradient[i] = static_cast<float>(std::sin(i));
  values.load_range(0, kRows, gradient.data(), device);
  for (int step = 0; step < kSteps; ++step) {
    values.read_all(before.data(), device);
    values.begin_step(0.5);
    values.push_range(0, kHalf, gradient.data(), 1, device);
    values.read_all(between.data(), device);
    values.read_range(kHalf / kCols - 1, 2, rows.data());
    values.push_range(kHalf, kCount - kHalf, gradient.data() + kHalf, 1, device);
    values.end_step();
    values.read_all(after.data(), device);
    const auto first = [&](const std::vector<float>& all) {
      return std::vector(all.begin(), all.begin() + kHalf);
    };
    const auto rest = [&](const std::vector<float>& all) {
      return std::vector(all.begin() + kHalf, all.end());
    };
    EXPECT_EQ(first(between), first(after)) << step;
    EXPECT_EQ(rest(between), rest(before)) << step;
    EXPECT_NE(rest(between), rest(after)) << step;
    EXPECT_EQ(rows, std::vector(between.begin() + kHalf - kCols, between.begin() + kHalf + kCols)) << step;
  }
}

}  // namespace
}  // namespace ps::dense_values_test
