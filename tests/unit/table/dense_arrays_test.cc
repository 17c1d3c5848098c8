#include "table/dense_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace ps::dense_arrays_test {
namespace {

using testing::ElementsAre;

// Three rows of two weights, with two state arrays: 18 floats that count from 0 as they are stored.
class DenseArraysTest : public testing::Test {
 protected:
  DenseArraysTest() {
    std::vector<float> all(18);
    std::iota(all.begin(), all.end(), 0.0f);
    arrays_.set_stored(0, arrays_.num_stored_rows(), all.data());
  }
  std::vector<float> stored(int64_t first, int64_t count) {
    std::vector<float> out(static_cast<size_t>(count * arrays_.cols()));
    arrays_.copy_stored(first, count, out.data());
    return out;
  }

  DenseArrays arrays_{3, 2, 2};
};

TEST_F(DenseArraysTest, StoredRowsAreTheWeightsThenEachStateArray) {
  EXPECT_EQ(arrays_.num_stored_rows(), 9);
  EXPECT_THAT(arrays_.weights(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(arrays_.state().size(), 12u);
  EXPECT_THAT(stored(2, 2), ElementsAre(4, 5, 6, 7)) << "the last of the weights, and the first of the state";
  EXPECT_THAT(stored(8, 1), ElementsAre(16, 17));
  EXPECT_THAT(stored(9, 0), ElementsAre());
}

TEST_F(DenseArraysTest, RowIsItsWeightsAndItsPartOfEachStateArray) {
  std::vector<float> row;
  arrays_.append_row(1, row);
  EXPECT_THAT(row, ElementsAre(2, 3, 8, 9, 14, 15));
  const float other[] = {20, 21, 22, 23, 24, 25};
  arrays_.set_row(2, other);
  EXPECT_THAT(stored(2, 1), ElementsAre(20, 21));
  EXPECT_THAT(stored(5, 1), ElementsAre(22, 23));
  EXPECT_THAT(stored(8, 1), ElementsAre(24, 25));
}

TEST_F(DenseArraysTest, BlockReachesTheStateOfItsWeights) {
  const Row<float> block = arrays_.block(2, 4);
  EXPECT_EQ(block.width, 2);
  EXPECT_EQ(block.weight[0], 2);
  EXPECT_EQ(block.state[0], 8);
  EXPECT_EQ(block.state[block.stride], 14);
}

TEST_F(DenseArraysTest, BlockOfWeightsAloneHasNoState) {
  EXPECT_EQ(DenseArrays(4, 3, 0).block(6, 12).state, nullptr);
}

TEST_F(DenseArraysTest, RowsThatAreNotThereCannotBeReached) {
  EXPECT_DEATH(stored(8, 2), "");
  EXPECT_DEATH(stored(-1, 1), "");
}

TEST(DenseArraysBytes, AreKnownBeforehandAndDoNotOverflow) {
  EXPECT_EQ(DenseArrays::bytes_needed(3, 2, 2), DenseArrays(3, 2, 2).num_floats() * sizeof(float));
  EXPECT_EQ(DenseArrays::bytes_needed(18182296, 256, 1), uint64_t{18182296} * 256 * 2 * 4);
  EXPECT_EQ(DenseArrays::bytes_needed(int64_t{1} << 40, int64_t{1} << 40, 1), UINT64_MAX);
}

}  // namespace
}  // namespace ps::dense_arrays_test
