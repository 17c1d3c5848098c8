#include "math/exact_squares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace ps::exact_squares_test {
namespace {

double squares_of(const std::vector<float>& values) {
  ExactSquares sum;
  sum.add(values.data(), static_cast<int64_t>(values.size()));
  return sum.value();
}

TEST(ExactSquares, OfFewValuesAreWhatTheyAre) {
  EXPECT_EQ(squares_of({}), 0);
  EXPECT_EQ(squares_of({3, -4, 0, -0.0f}), 25);
  EXPECT_EQ(squares_of({0.5f, 1e-20f}), 0.25);
  const float largest = std::numeric_limits<float>::max(),
              smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(squares_of({largest}), static_cast<double>(largest) * static_cast<double>(largest));
  EXPECT_EQ(squares_of({smallest}), static_cast<double>(smallest) * static_cast<double>(smallest));
}

TEST(ExactSquares, NothingIsLostBesideSomethingLarge) {
  std::vector<float> values(1 << 12, 1.0f);
  values[0] = 0x1p27f;  // to its square, a double cannot add ones one by one
  EXPECT_EQ(squares_of(values), 0x1p54 + 4096) << "4095, to the nearest double";
}

TEST(ExactSquares, NeitherOrderNorPiecesMatter) {
  Random random(1, 2);
  std::vector<float> values(1000);
  for (float& value : values) {
    value = std::ldexp(static_cast<float>(random.normal()), static_cast<int>(random.below(200)) - 120);
  }
  ExactSquares whole, pieces, loaded;
  whole.add(values.data(), 1000);
  std::reverse(values.begin(), values.end());
  for (int i = 0; i < 10; ++i) {
    ExactSquares piece;
    piece.add(values.data() + 100 * i, 100);
    pieces.add(piece);
  }
  EXPECT_EQ(whole, pieces);
  std::string bytes;
  whole.save(bytes);
  ByteReader in(bytes);
  loaded.load(in);
  EXPECT_EQ(whole, loaded);
  EXPECT_TRUE(in.ok());
}

TEST(ExactSquares, AValueThatIsNotFiniteMakesTheSumInfinite) {
  EXPECT_EQ(squares_of({1, std::numeric_limits<float>::quiet_NaN()}),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace ps::exact_squares_test
