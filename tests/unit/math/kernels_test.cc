// Dense and sparse kernels against sums written out, over shapes that leave partial blocks and vectors.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/random.h"
#include "math/dense_kernels.h"
#include "math/gemm.h"
#include "math/sparse_kernels.h"

namespace ps::kernels_test {
namespace {

std::vector<float> random_floats(int64_t size, uint64_t stream) {
  Random random(11, stream);
  std::vector<float> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(static_cast<float>(random.normal()));
  return out;
}

class Gemm : public testing::TestWithParam<std::array<int64_t, 3>> {};

// Sums of up to 300 products of normal numbers: float rounds them by some 1e-5.
TEST_P(Gemm, AddsTheProductThreeWays) {
  auto [m, k, n] = GetParam();
  std::vector<float> a = random_floats(m * k, 1), b = random_floats(k * n, 2),
                     start = random_floats(m * n, 3);
  std::vector<float> a_transposed(a.size()), b_transposed(b.size());
  for (int64_t i = 0; i < m * k; ++i)
    a_transposed[static_cast<size_t>(i % k * m + i / k)] = a[static_cast<size_t>(i)];
  for (int64_t i = 0; i < k * n; ++i)
    b_transposed[static_cast<size_t>(i % n * k + i / n)] = b[static_cast<size_t>(i)];
  Device device(2, best_cpu_level());
  std::vector<float> plain = start, left = start, right = start;
  add_product<float>(device, {a.data(), m, k}, {b.data(), k, n}, {plain.data(), m, n});
  add_product_transposed_left<float>(device, {a_transposed.data(), k, m}, {b.data(), k, n},
                                     {left.data(), m, n});
  add_product_transposed_right<float>(device, {a.data(), m, k}, {b_transposed.data(), n, k},
                                      {right.data(), m, n});
  for (int64_t i = 0; i < m * n; ++i) {
    double expected = start[static_cast<size_t>(i)];
    for (int64_t j = 0; j < k; ++j) {
      expected +=
          static_cast<double>(a[static_cast<size_t>(i / n * k + j)]) * b[static_cast<size_t>(j * n + i % n)];
    }
    ASSERT_NEAR(plain[static_cast<size_t>(i)], expected, 1e-4);
    ASSERT_NEAR(left[static_cast<size_t>(i)], expected, 1e-4);
    ASSERT_NEAR(right[static_cast<size_t>(i)], expected, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Gemm,
                         testing::Values(std::array<int64_t, 3>{1, 1, 1}, std::array<int64_t, 3>{200, 300, 3},
                                         std::array<int64_t, 3>{37, 65, 129}, std::array<int64_t, 3>{3, 0, 2},
                                         std::array<int64_t, 3>{0, 4, 5},
                                         std::array<int64_t, 3>{300, 1, 17}));

// A table of 40 rows and examples of 0 to 9 ids with repeats.
class SparseKernels : public testing::TestWithParam<int64_t> {
 protected:
  SparseKernels() : table_(random_floats(40 * width_, 4)), above_(random_floats(kExamples * width_, 5)) {
    Random random(13, 0);
    for (int64_t b = 0; b < kExamples; ++b) {
      for (uint64_t k = random.below(10); k > 0; --k) keys_.push_back(random.below(40));
      offsets_.push_back(static_cast<uint32_t>(keys_.size()));
    }
    values_ = random_floats(static_cast<int64_t>(keys_.size()), 6);
    KeyPlanner planner;
    KeyList list{offsets_, keys_, /*transposed=*/true};
    planner.plan({&list, 1}, plan_);
    for (uint64_t key : plan_.keys) rows_.push_back(&table_[key * static_cast<size_t>(width_)]);
  }

  // Calls body(b, n, k) for every id, in order.
  template <class Body>
  void for_ids(Body&& body) const {
    for (int64_t b = 0; b < kExamples; ++b) {
      for (uint32_t k = offsets_[static_cast<size_t>(b)]; k < offsets_[static_cast<size_t>(b) + 1]; ++k) {
        body(b, plan_.uses[0].index[k], k);
      }
    }
  }

  static constexpr int64_t kExamples = 50;
  const int64_t width_ = GetParam();
  std::vector<float> table_, above_, values_;
  std::vector<uint32_t> offsets_ = {0};
  std::vector<uint64_t> keys_;
  KeyPlan plan_;
  std::vector<const float*> rows_;
  Device device_{2, best_cpu_level()};
};

// The sums run in the order of the ids, so they are equal to the last bit.
TEST_P(SparseKernels, BagsAreSumsOfRowsInOrder) {
  std::vector<float> out(above_.size()), expected(above_.size()), ones(above_.size()),
      expected_ones(above_.size());
  add_bags<float>(device_, plan_.uses[0], values_.data(), rows_.data(), {out.data(), width_, width_});
  add_bags<float>(device_, plan_.uses[0], nullptr, rows_.data(), {ones.data(), width_, width_});
  for_ids([&](int64_t b, uint32_t n, uint32_t k) {
    for (int64_t d = 0; d < width_; ++d) {
      expected[static_cast<size_t>(b * width_ + d)] += values_[k] * rows_[n][d];
      expected_ones[static_cast<size_t>(b * width_ + d)] += rows_[n][d];
    }
  });
  EXPECT_EQ(out, expected);
  EXPECT_EQ(ones, expected_ones);
}

TEST_P(SparseKernels, RowGradientsAreSumsOverTheExamplesOfARowInOrder) {
  std::vector<float> out(rows_.size() * static_cast<size_t>(width_)), expected(out.size());
  add_bag_gradients<float>(device_, plan_.uses[0], values_.data(), {above_.data(), width_, width_},
                           out.data());
  for_ids([&](int64_t b, uint32_t n, uint32_t k) {
    for (int64_t d = 0; d < width_; ++d) {
      expected[n * static_cast<size_t>(width_) + static_cast<size_t>(d)] +=
          values_[k] * above_[static_cast<size_t>(b * width_ + d)];
    }
  });
  EXPECT_EQ(out, expected);
}

TEST_P(SparseKernels, RowGradientsOfAUseThatIsNotTransposedAreTheSameBits) {
  KeyList list{offsets_, keys_, /*transposed=*/false};
  KeyPlan plain;
  KeyPlanner().plan({&list, 1}, plain);
  for (const float* values :
       {static_cast<const float*>(nullptr), static_cast<const float*>(values_.data())}) {
    std::vector<float> out(rows_.size() * static_cast<size_t>(width_)), expected(out.size());
    add_bag_gradients<float>(device_, plain.uses[0], values, {above_.data(), width_, width_}, out.data());
    add_bag_gradients<float>(device_, plan_.uses[0], values, {above_.data(), width_, width_},
                             expected.data());
    EXPECT_EQ(out, expected);
  }
}

TEST_P(SparseKernels, FactorisationSumsAndGradientsAreThoseOfItsFormulaInOrder) {
  std::vector<float> sums(above_.size()), squares(above_.size()), expected(above_.size()),
      expected_squares(above_.size());
  add_bags_and_squares<float>(device_, plan_.uses[0], values_.data(), rows_.data(),
                              {sums.data(), width_, width_}, {squares.data(), width_, width_});
  std::vector<float> out(rows_.size() * static_cast<size_t>(width_)), expected_out(out.size());
  std::vector<float> gradient = random_floats(kExamples, 7);
  add_pairwise_gradients<float>(device_, plan_.uses[0], values_.data(), rows_.data(), gradient.data(),
                                {above_.data(), width_, width_}, out.data());
  for_ids([&](int64_t b, uint32_t n, uint32_t k) {
    for (int64_t d = 0; d < width_; ++d) {
      const size_t at = static_cast<size_t>(b * width_ + d);
      const float part = values_[k] * rows_[n][d];
      expected[at] += part;
      expected_squares[at] += part * part;
      expected_out[n * static_cast<size_t>(width_) + static_cast<size_t>(d)] +=
          gradient[static_cast<size_t>(b)] * values_[k] * (above_[at] - part);
    }
  });
  EXPECT_EQ(sums, expected);
  EXPECT_EQ(squares, expected_squares);
  EXPECT_EQ(out, expected_out);
}

TEST_P(SparseKernels, WriteOnlyTheirColumns) {
  const int64_t stride = width_ + 2;
  std::vector<float> out(static_cast<size_t>(kExamples * stride), 7.0f);
  add_bags<float>(device_, plan_.uses[0], nullptr, rows_.data(), {out.data() + 1, stride, width_});
  for (int64_t b = 0; b < kExamples; ++b) {
    EXPECT_EQ(out[static_cast<size_t>(b * stride)], 7.0f);
    EXPECT_EQ(out[static_cast<size_t>(b * stride + stride - 1)], 7.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, SparseKernels, testing::Values(1, 2, 3, 4, 8, 16, 32, 256, 1024));

TEST(DenseKernels, ColumnSumsScaleRows) {
  Device device(2, best_cpu_level());
  std::vector<float> m = {1, 2, 3, 4, 5, 6}, scales = {10, 0, 1, 0}, sums = {0.5f, 0};
  add_column_sums<float>(device, {m.data() + 1, 3, 2}, 2, scales.data(), 2, sums.data());
  EXPECT_EQ(sums, (std::vector<float>{25.5f, 36}));
}

}  // namespace
}  // namespace ps::kernels_test
