// Kernels of every level of instruction sets that this processor has, against those of the baseline: the same
// bits where sums run in the same order, and products of matrices to rounding.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/cpu.h"
#include "base/random.h"
#include "math/dense_kernels.h"
#include "math/gemm.h"
#include "math/sparse_kernels.h"

namespace ps::levels_test {
namespace {

using Floats = std::vector<float>;

Floats random_floats(int64_t size, uint64_t stream) {
  Random random(17, stream);
  Floats out;
  for (int64_t i = 0; i < size; ++i) out.push_back(static_cast<float>(random.normal()));
  return out;
}

// Calls results(device) at every level, and compare(level, result, baseline's).
template <class Results, class Compare>
void for_levels(Results&& results, Compare&& compare) {
  Device plain(2, CpuLevel::kBaseline);
  const auto baseline = results(plain);
  for (CpuLevel level : possible_levels(cpu_features())) {
    Device device(2, level);
    compare(level, results(device), baseline);
  }
}

class Levels : public testing::TestWithParam<int64_t> {
 protected:
  Levels() : above_(random_floats(kExamples * width_, 2)), table_(random_floats(kKeys * width_, 1)) {
    Random random(19, 0);
    for (int64_t b = 0; b < kExamples; ++b) {
      for (uint64_t k = random.below(kMaxIds + 1); k > 0; --k) keys_.push_back(random.below(kKeys));
      offsets_.push_back(static_cast<uint32_t>(keys_.size()));
    }
    values_ = random_floats(static_cast<int64_t>(keys_.size()), 3);
    KeyPlanner planner;
    KeyList list{offsets_, keys_, /*transposed=*/true};
    planner.plan({&list, 1}, plan_);
    for (uint64_t key : plan_.keys) rows_.push_back(&table_[key * static_cast<size_t>(width_)]);
  }

  const KeyUse& use() const { return plan_.uses[0]; }
  Columns<float> columns_of(Floats& values, int64_t width) const { return {values.data(), width, width}; }

  // Returns the results of all sparse kernels.
  std::vector<Floats> sparse_results(Device& device, const float* values) {
    Floats bags(above_), sums(above_), squares(above_),
        gradients = row_gradients(), copied = row_gradients(), pairwise = row_gradients(),
        places(static_cast<size_t>(kExamples * width_ * kMaxIds));
    add_bags<float>(device, use(), values, rows_.data(), columns_of(bags, width_));
    add_bags_and_squares<float>(device, use(), values, rows_.data(), columns_of(sums, width_),
                                columns_of(squares, width_));
    copy_rows<float>(device, use(), values, rows_.data(), width_, columns_of(places, width_ * kMaxIds));
    add_bag_gradients<float>(device, use(), values, columns_of(above_, width_), gradients.data());
    add_copied_gradients<float>(device, use(), values, columns_of(places, width_ * kMaxIds), width_,
                                copied.data());
    add_pairwise_gradients<float>(device, use(), values, rows_.data(), values_.data(),
                                  columns_of(sums, width_), pairwise.data());
    return {bags, sums, squares, places, gradients, copied, pairwise};
  }

  Floats row_gradients() const { return Floats(rows_.size() * static_cast<size_t>(width_), 0.5f); }

  static constexpr int64_t kExamples = 60, kKeys = 50, kMaxIds = 11;
  const int64_t width_ = GetParam();
  Floats above_, table_, values_;
  std::vector<uint32_t> offsets_ = {0};
  std::vector<uint64_t> keys_;
  KeyPlan plan_;
  std::vector<const float*> rows_;
};

void expect_same_bits(CpuLevel level, const std::vector<Floats>& results,
                      const std::vector<Floats>& baseline) {
  for (size_t i = 0; i < baseline.size(); ++i) {
    EXPECT_EQ(std::memcmp(results[i].data(), baseline[i].data(), baseline[i].size() * sizeof(float)), 0)
        << "array " << i << " of " << cpu_level_name(level);
  }
}

TEST_P(Levels, SparseKernelsGiveTheBitsOfTheBaseline) {
  for_levels([&](Device& device) { return sparse_results(device, nullptr); }, expect_same_bits);
  for_levels([&](Device& device) { return sparse_results(device, values_.data()); }, expect_same_bits);
}

TEST_P(Levels, DenseSumsGiveTheBitsOfTheBaseline) {
  for_levels(
      [&](Device& device) -> std::vector<Floats> {
        Floats sums(static_cast<size_t>(width_), 0.25f), added(above_);
        add_column_sums<float>(device, columns_of(above_, width_), kExamples, values_.data(), 1, sums.data());
        add_columns<float>(device, columns_of(above_, width_), kExamples, columns_of(added, width_));
        return {sums, added};
      },
      expect_same_bits);
}

// Fused multiply-add and wider registers round each sum of 65 products otherwise: by less than a millionth of
// the products' sizes.
TEST_P(Levels, ProductsOfMatricesAreThoseOfTheBaselineToRounding) {
  constexpr int64_t kDepth = 65;
  const Floats a = random_floats(kExamples * kDepth, 4), b = random_floats(kDepth * width_, 5);
  Floats sizes_a, sizes_b, sizes(static_cast<size_t>(kExamples * width_));
  for (float x : a) sizes_a.push_back(std::fabs(x));
  for (float x : b) sizes_b.push_back(std::fabs(x));
  Device plain(1, CpuLevel::kBaseline);
  add_product<float>(plain, {sizes_a.data(), kExamples, kDepth}, {sizes_b.data(), kDepth, width_},
                     {sizes.data(), kExamples, width_});
  for_levels(
      [&](Device& device) {
        Floats out(sizes.size());
        add_product<float>(device, {a.data(), kExamples, kDepth}, {b.data(), kDepth, width_},
                           {out.data(), kExamples, width_});
        return out;
      },
      [&](CpuLevel level, const Floats& out, const Floats& baseline) {
        for (size_t i = 0; i < out.size(); ++i)
          ASSERT_NEAR(out[i], baseline[i], 1e-6 * sizes[i]) << cpu_level_name(level);
      });
}

INSTANTIATE_TEST_SUITE_P(Widths, Levels, testing::Values(1, 2, 3, 4, 8, 16, 19, 32, 64, 100));

}  // namespace
}  // namespace ps::levels_test
