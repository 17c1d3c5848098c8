#include "codec/row_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/cpu.h"
#include "base/random.h"

namespace ps::row_codec_test {
namespace {

using Floats = std::vector<float>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string encode(RowType type, const Floats& values, int64_t cols, CpuLevel cpu = best_cpu_level()) {
  const int64_t rows = static_cast<int64_t>(values.size()) / cols;
  std::string out(static_cast<uint64_t>(rows) * encoded_row_bytes(type, cols), '?');
  row_codec(type, cpu).encode(values.data(), rows, cols, out.data());
  return out;
}

Floats decode(RowType type, const std::string& encoded, int64_t cols, CpuLevel cpu = best_cpu_level()) {
  const int64_t rows = static_cast<int64_t>(encoded.size() / encoded_row_bytes(type, cols));
  Floats out(static_cast<size_t>(rows * cols));
  row_codec(type, cpu).decode(encoded.data(), rows, cols, out.data());
  return out;
}

uint16_t coded(RowType type, float value) {
  uint16_t bits;
  std::memcpy(&bits, encode(type, {value}, 1).data(), sizeof bits);
  return bits;
}

float decoded(RowType type, uint16_t bits) {
  return decode(type, std::string(reinterpret_cast<const char*>(&bits), sizeof bits), 1)[0];
}

// The values of [first, last] in a type of 16 bits, in their order.
Floats values_between(RowType type, uint16_t first, uint16_t last) {
  Floats all;
  for (uint32_t bits = first; bits <= last; ++bits) all.push_back(decoded(type, static_cast<uint16_t>(bits)));
  return all;
}

Floats random_values(uint64_t stream, size_t size, double smallest_exponent, double largest_exponent) {
  Random random(23, stream);
  Floats all(size);
  for (float& value : all) {
    const double exponent = smallest_exponent + random.uniform() * (largest_exponent - smallest_exponent);
    value = static_cast<float>((random.below(2) == 0 ? 1 : -1) * std::exp2(exponent));
  }
  return all;
}

TEST(RowCodec, GoldenHalves) {
  const std::pair<float, uint16_t> golden[] = {
      {0, 0},
      {-0.0f, 0x8000},
      {1, 0x3c00},
      {-2, 0xc000},
      {0.1f, 0x2e66},
      {1 + 0x1p-11f, 0x3c00},  // ties go to the even one
      {1 + 0x3p-11f, 0x3c02},
      {65504, 0x7bff},
      {65519.996f, 0x7bff},
      {65520, 0x7bff},  // would be infinite
      {1e30f, 0x7bff},
      {-1e30f, 0xfbff},
      {0x1p-14f, 0x0400},  // the smallest normal one
      {0x1.ff8p-15f, 0x03ff},
      {0x1.ffcp-15f, 0x0400},
      {0x1p-24f, 0x0001},
      {0x1p-25f, 0x0000},
      {0x1.000002p-25f, 0x0001},
      {0x3p-25f, 0x0002},
      {-0x1p-24f, 0x8001},
      {1e-40f, 0x0000},
      {kInf, 0x7c00},
      {-kInf, 0xfc00},
  };
  for (auto [value, bits] : golden) EXPECT_EQ(coded(RowType::kF16, value), bits) << value;
  EXPECT_TRUE(std::isnan(decoded(RowType::kF16, coded(RowType::kF16, kNan))));
}

TEST(RowCodec, GoldenBfloats) {
  const std::pair<float, uint16_t> golden[] = {
      {0, 0},
      {-0.0f, 0x8000},
      {1, 0x3f80},
      {0.1f, 0x3dcd},
      {1 + 0x1p-8f, 0x3f80},
      {1 + 0x3p-8f, 0x3f82},
      {std::numeric_limits<float>::max(), 0x7f7f},
      {std::numeric_limits<float>::lowest(), 0xff7f},
      {0x1p-133f, 0x0001},
      {kInf, 0x7f80},
      {-kInf, 0xff80},
  };
  for (auto [value, bits] : golden) EXPECT_EQ(coded(RowType::kBf16, value), bits) << value;
  EXPECT_TRUE(std::isnan(decoded(RowType::kBf16, coded(RowType::kBf16, kNan))));
}

TEST(RowCodec, EveryHalfComesBack) {
  for (RowType type : {RowType::kF16, RowType::kBf16}) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      const float value = decoded(type, static_cast<uint16_t>(bits));
      if (std::isnan(value)) continue;
      ASSERT_EQ(coded(type, value), bits) << row_type_name(type) << " " << value;
    }
  }
}

TEST(RowCodec, HalvesAreWhatTheStandardSays) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const uint32_t exponent = bits >> 10, fraction = bits & 0x3ff;
    const double value =
        exponent == 0 ? fraction * 0x1p-24 : (1024 + fraction) * std::exp2(static_cast<int>(exponent) - 25);
    ASSERT_EQ(decoded(RowType::kF16, static_cast<uint16_t>(bits)), value) << bits;
  }
}

// Between every two neighbours: the middle goes to the even one, what is beside it to the nearer one.
TEST(RowCodec, RoundsToTheNearestAndTiesToEven) {
  for (RowType type : {RowType::kF16, RowType::kBf16}) {
    const uint16_t largest = type == RowType::kF16 ? 0x7bff : 0x7f7f;
    const Floats values = values_between(type, 0, largest);
    for (uint16_t low = 0; low < largest; ++low) {
      const float middle =
          static_cast<float>((static_cast<double>(values[low]) + static_cast<double>(values[low + 1])) / 2);
      ASSERT_EQ(coded(type, middle), low % 2 == 0 ? low : low + 1) << row_type_name(type) << " " << middle;
      ASSERT_EQ(coded(type, std::nextafter(middle, 0.0f)), low) << row_type_name(type) << " " << middle;
      ASSERT_EQ(coded(type, std::nextafter(middle, kInf)), low + 1) << row_type_name(type) << " " << middle;
    }
  }
}

TEST(RowCodec, BytesShareTheScaleOfTheirRow) {
  EXPECT_EQ(decode(RowType::kInt8, encode(RowType::kInt8, {127, -63, 0.4f, 0}, 4), 4),
            (Floats{127, -63, 0, 0}));
  EXPECT_EQ(decode(RowType::kInt8, encode(RowType::kInt8, {-127, 0.5f, 1.5f, 2.5f}, 4), 4),
            (Floats{-127, 0, 2, 2}));
  // Rows do not know of each other.
  EXPECT_EQ(decode(RowType::kInt8, encode(RowType::kInt8, {1, 0, 0, 1000}, 2), 2), (Floats{1, 0, 0, 1000}));
}

TEST(RowCodec, BytesAreWithinHalfAStep) {
  for (int64_t cols : {1, 3, 16, 257}) {
    const Floats values = random_values(static_cast<uint64_t>(cols), static_cast<size_t>(40 * cols), -20, 20);
    const Floats back = decode(RowType::kInt8, encode(RowType::kInt8, values, cols), cols);
    for (size_t r = 0; r < 40; ++r) {
      const float* row = &values[r * static_cast<size_t>(cols)];
      float largest = 0;
      for (int64_t j = 0; j < cols; ++j) largest = std::max(largest, std::fabs(row[j]));
      for (int64_t j = 0; j < cols; ++j) {
        const float got = back[r * static_cast<size_t>(cols) + static_cast<size_t>(j)];
        EXPECT_LE(std::fabs(got - row[j]), largest / 127 * 0.5001f) << row[j];
      }
    }
  }
}

TEST(RowCodec, TinyAndHugeRowsOfBytes) {
  EXPECT_EQ(decode(RowType::kInt8, encode(RowType::kInt8, {1e-37f, -1e-40f}, 2), 2), (Floats{0, 0}));
  const float max = std::numeric_limits<float>::max();
  const Floats back = decode(RowType::kInt8, encode(RowType::kInt8, {max, -max}, 2), 2);
  EXPECT_NEAR(back[0] / max, 1, 1e-6);
  EXPECT_EQ(back[1], -back[0]);
}

// A row of 600 has a scale for its first 256 values, the next, and the 88 that are left.
TEST(RowCodec, BlocksOfARowHaveScalesOfTheirOwn) {
  Floats values(1200);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t block = i % 600 / 256;
    values[i] = (static_cast<float>(i % 255) - 127) * (block == 0 ? 1.0f : block == 1 ? 0x1p-10f : 0x1p+10f);
    if (i % 600 % 256 == 0) values[i] = -127.0f * (block == 0 ? 1.0f : block == 1 ? 0x1p-10f : 0x1p+10f);
  }
  EXPECT_EQ(encoded_row_bytes(RowType::kInt8Blocks, 600), 3 * 4 + 600);
  EXPECT_EQ(decode(RowType::kInt8Blocks, encode(RowType::kInt8Blocks, values, 600), 600), values);
  EXPECT_NE(decode(RowType::kInt8, encode(RowType::kInt8, values, 600), 600), values);
  const Floats narrow = random_values(3, 256, -5, 5);
  EXPECT_EQ(encode(RowType::kInt8Blocks, narrow, 256), encode(RowType::kInt8, narrow, 256));
}

TEST(RowCodec, OneBitValuesAreTheMeansOfTheirSigns) {
  const Floats values = {1,  -2, 3,  0,  -4, 8,  -0.0f, 0,  0,  // nine values: 12 / 7, and -6 / 2
                         -1, -2, -3, -1, -2, -3, -1,    -2, -3};
  const std::string encoded = encode(RowType::kOneBit, values, 9);
  ASSERT_EQ(encoded.size(), 2 * (8u + 2u));
  EXPECT_EQ(encoded[8], 1 << 1 | 1 << 4);
  EXPECT_EQ(encoded[9], 0);
  EXPECT_EQ(encoded[18], '\xff');
  EXPECT_EQ(encoded[19], 1);
  const float up = 12.0f / 7, down = -3;
  EXPECT_EQ(decode(RowType::kOneBit, encoded, 9),
            (Floats{up, down, up, up, down, up, up, up, up, -2, -2, -2, -2, -2, -2, -2, -2, -2}));
  const float max = std::numeric_limits<float>::max();
  EXPECT_EQ(decode(RowType::kOneBit, encode(RowType::kOneBit, {max, max, -max}, 3), 3),
            (Floats{max, max, -max}));
}

TEST(RowCodec, WhatIsNotFiniteStaysSo) {
  for (RowType type : {RowType::kF32, RowType::kF16, RowType::kBf16}) {
    const Floats back = decode(type, encode(type, {kNan, kInf, -kInf, 1}, 4), 4);
    EXPECT_TRUE(std::isnan(back[0]));
    EXPECT_EQ(back[1], kInf);
    EXPECT_EQ(back[2], -kInf);
    EXPECT_EQ(back[3], 1);
  }
  for (float odd : {kNan, kInf, -kInf}) {
    const Floats back = decode(RowType::kInt8, encode(RowType::kInt8, {1, odd, 2, 2}, 2), 2);
    EXPECT_TRUE(std::isnan(back[0]) && std::isnan(back[1])) << odd;
    EXPECT_EQ(back[2], 2);
    const Floats signs = decode(RowType::kOneBit, encode(RowType::kOneBit, {1, odd, 2, 2}, 2), 2);
    EXPECT_TRUE(std::isnan(signs[0]) && std::isnan(signs[1])) << odd;
    EXPECT_EQ(signs[2], 2);
  }
}

// The sent values and the residual add up to the given values.
TEST(RowCodec, ErrorFeedbackSumsToTheTrueSum) {
  for (RowType type : kRowTypes) {
    for (int64_t cols : {1, 5, 3000}) {
      constexpr int64_t kRows = 3;
      constexpr int kSteps = 200;
      const size_t size = static_cast<size_t>(kRows * cols);
      Floats error(size), got(size);
      std::vector<double> sum(size), sent(size);
      for (int step = 0; step < kSteps; ++step) {
        const Floats values = random_values(static_cast<uint64_t>(step), size, -12, 0);
        std::string encoded(kRows * encoded_row_bytes(type, cols), '?');
        const RowCodec& codec = row_codec(type, best_cpu_level());
        codec.encode_with_error(values.data(), error.data(), kRows, cols, encoded.data());
        codec.decode(encoded.data(), kRows, cols, got.data());
        for (size_t i = 0; i < size; ++i) {
          sum[i] += static_cast<double>(values[i]);
          sent[i] += static_cast<double>(got[i]);
        }
      }
      for (size_t i = 0; i < size; ++i) {
        ASSERT_NEAR(sent[i] + static_cast<double>(error[i]), sum[i], 1e-4) << row_type_name(type);
        ASSERT_TRUE(type != RowType::kF32 || error[i] == 0);
      }
    }
  }
}

// A value beyond the range is sent over the following steps; a value that is not finite leaves no residual.
TEST(RowCodec, ErrorFeedbackKeepsWhatOverflowedAndForgetsWhatIsNotFinite) {
  Floats error = {0};
  std::string encoded(2, '?');
  const Floats big = {100000}, none = {0}, nan = {kNan}, inf = {kInf};
  const RowCodec& codec = row_codec(RowType::kF16, best_cpu_level());
  codec.encode_with_error(big.data(), error.data(), 1, 1, encoded.data());
  EXPECT_EQ(decode(RowType::kF16, encoded, 1)[0], 65504);
  EXPECT_EQ(error[0], 100000 - 65504);
  codec.encode_with_error(none.data(), error.data(), 1, 1, encoded.data());
  EXPECT_EQ(decode(RowType::kF16, encoded, 1)[0], 100000 - 65504);
  EXPECT_EQ(error[0], 0);
  for (const Floats& odd : {nan, inf}) {
    error = {1};
    codec.encode_with_error(odd.data(), error.data(), 1, 1, encoded.data());
    EXPECT_FALSE(std::isfinite(decode(RowType::kF16, encoded, 1)[0]));
    EXPECT_EQ(error[0], 0);
  }
}

TEST(RowCodec, EveryLevelGivesTheSameBits) {
  for (RowType type : kRowTypes) {
    for (int64_t cols : {1, 2, 7, 16, 33, 4000}) {
      Floats values = random_values(77, static_cast<size_t>(cols * 6), -150, 127);
      values[0] = kNan;
      values[static_cast<size_t>(cols)] = kInf;
      std::string first;
      Floats first_values, first_error;
      for (CpuLevel level : possible_levels(cpu_features())) {
        std::string encoded = encode(type, values, cols, level);
        Floats back = decode(type, encoded, cols, level), error(values.size(), 0x1p-20f);
        row_codec(type, level).encode_with_error(values.data(), error.data(), 6, cols, encoded.data());
        if (first.empty()) first = encoded, first_values = back, first_error = error;
        ASSERT_EQ(encoded, first) << row_type_name(type) << " " << cpu_level_name(level);
        ASSERT_EQ(0, std::memcmp(back.data(), first_values.data(), back.size() * sizeof(float)));
        ASSERT_EQ(0, std::memcmp(error.data(), first_error.data(), error.size() * sizeof(float)));
      }
    }
  }
}

TEST(RowCodec, TypesHaveNamesAndNumbers) {
  for (RowType type : kRowTypes) {
    EXPECT_EQ(find_row_type(row_type_name(type)), type);
    EXPECT_EQ(find_row_type(static_cast<uint8_t>(type)), type);
  }
  EXPECT_FALSE(find_row_type("f64"));
  EXPECT_FALSE(find_row_type(uint8_t{6}));
  for (const std::string& name : weight_type_names()) EXPECT_NE(name, "one_bit");
  EXPECT_EQ(weight_type_names().size() + 1, row_type_names().size());
}

}  // namespace
}  // namespace ps::row_codec_test
