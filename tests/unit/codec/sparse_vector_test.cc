#include "codec/sparse_vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "support/environment.h"

namespace ps::sparse_vector_test {
namespace {

// About `count` entries of `size` values, some of them far apart.
SparseVector random_part(uint64_t stream, uint64_t size, uint64_t count) {
  Random random(11, stream);
  SparseVector part;
  for (uint64_t i = 0; i < count; ++i) part.index.push_back(static_cast<uint32_t>(random.below(size)));
  std::sort(part.index.begin(), part.index.end());
  part.index.erase(std::unique(part.index.begin(), part.index.end()), part.index.end());
  for (size_t i = 0; i < part.index.size(); ++i) part.value.push_back(static_cast<float>(random.normal()));
  return part;
}

TEST(SparseVector, EveryEncodingGivesThePartBack) {
  for (SparseEncoding encoding : kSparseEncodings) {
    for (uint64_t size : {uint64_t{1}, uint64_t{300}, uint64_t{65535}, uint64_t{65536}, uint64_t{10'000'000},
                          kMaxSparseSize}) {
      for (uint64_t count : {0, 1, 2, 100, 3000}) {
        SparseVector part = random_part(size + count, size, count), back;
        round_values(encoding, part.value);
        std::string bytes;
        encode_sparse(encoding, part, bytes);
        decode_sparse(encoding, bytes, size, back);
        ASSERT_EQ(back, part) << static_cast<int>(encoding) << " " << size << " " << count;
      }
    }
  }
}

TEST(SparseVector, RunsAtTheEdgesOfTheirTypes) {
  for (SparseEncoding encoding : kSparseEncodings) {
    for (uint32_t run : {0u, 127u, 128u, 16383u, 16384u, 65534u, 65535u, 65536u, 131070u, 131071u}) {
      const SparseVector part{{run, 2 * run + 1}, {1, -2}};
      SparseVector back;
      std::string bytes;
      encode_sparse(encoding, part, bytes);
      decode_sparse(encoding, bytes, 2 * uint64_t{run} + 2, back);
      ASSERT_EQ(back, part) << run;
      EXPECT_THROW(decode_sparse(encoding, bytes, 2 * uint64_t{run} + 1, back), Error);
    }
  }
}

TEST(SparseVector, GoldenBytes) {
  using Bytes = std::vector<uint8_t>;
  const SparseVector part{{2, 3, 300}, {1, -2, 0.5f}};
  const Bytes floats = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f};
  const std::pair<SparseEncoding, Bytes> golden[] = {
      {SparseEncoding::kIndex32, {2, 0, 0, 0, 3, 0, 0, 0, 0x2c, 1, 0, 0}},
      {SparseEncoding::kRun16, {2, 0, 0, 0, 0x28, 1}},
      {SparseEncoding::kVarint, {3, 2, 0, 0xa8, 2}},
      {SparseEncoding::kVarintF16, {3, 2, 0, 0xa8, 2}},
      {SparseEncoding::kVarintInt8, {3, 2, 0, 0xa8, 2}},
      {SparseEncoding::kVarintInt2, {3, 2, 0, 0xa8, 2}}};
  for (const auto& [encoding, runs] : golden) {
    Bytes expected = runs;
    const Bytes halves = {0, 0x3c, 0, 0xc0, 0, 0x38};
    const Bytes units = {0xfb, 32, 0xc0, 16};  // of 2^-5
    const Bytes levels = {0, 3 << 2};          // 2^0, -2^1, 2^0
    const Bytes& values = encoding == SparseEncoding::kVarintF16    ? halves
                          : encoding == SparseEncoding::kVarintInt8 ? units
                          : encoding == SparseEncoding::kVarintInt2 ? levels
                                                                    : floats;
    expected.insert(expected.end(), values.begin(), values.end());
    std::string bytes;
    encode_sparse(encoding, part, bytes);
    EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), expected) << static_cast<int>(encoding);
  }
}

// An owner gets entries of other sizes than those of the whole, and they still come back as they were rounded.
TEST(SparseVector, RoundedValuesAreEncodedExactlyInAnyPart) {
  for (SparseEncoding encoding : kSparseEncodings) {
    for (const float scale : {1e-44f, 1e-30f, 1.0f, 0.9999f, 1e30f, 3.4e38f}) {
      if (encoding == SparseEncoding::kVarintF16 && scale != 1.0f && scale != 0.9999f) continue;
      SparseVector part = random_part(5, 1000, 80), back;
      for (float& value : part.value) value = std::clamp(value, -1.0f, 1.0f) * scale;
      const std::vector<float> exact = part.value;
      round_values(encoding, part.value);
      for (size_t i = 0; i < part.size(); ++i) {
        const float bound = encoding == SparseEncoding::kVarintInt2   ? std::max(scale, 0x1p-126f)
                            : encoding == SparseEncoding::kVarintInt8 ? std::max(scale / 60, 0x1p-126f)
                                                                      : scale / 1000;
        ASSERT_NEAR(part.value[i], exact[i], bound);
        const SparseVector one{{part.index[i]}, {part.value[i]}};
        std::string bytes;
        encode_sparse(encoding, one, bytes);
        decode_sparse(encoding, bytes, 1000, back);
        ASSERT_EQ(back, one) << static_cast<int>(encoding) << " " << scale;
      }
    }
  }
}

// Two sizes about the mean: the error of a value is at most half of its size where it lies between two thirds of the smaller
// and twice the larger.
TEST(SparseVector, TwoBitsKeepTheSignAndTheNearerOfTwoSizes) {
  std::vector<float> values = {1, -1.4f, 1.5f, -1.6f, 2.9f, 0, 0.2f, 3};  // their mean is 1.45
  round_values(SparseEncoding::kVarintInt2, values);
  EXPECT_EQ(values, (std::vector<float>{1, -1, 2, -2, 2, 1, 1, 2}));
  round_values(SparseEncoding::kVarintInt2, values);
  EXPECT_EQ(values, (std::vector<float>{1, -1, 2, -2, 2, 1, 1, 2}));
  const SparseVector part{{0, 1, 2, 3, 4}, {1, 1, 1, 1, -1}};
  std::string bytes;
  encode_sparse(SparseEncoding::kVarintInt2, part, bytes);
  EXPECT_EQ(bytes.size(), 1 + 5 + 1 + 2u);
  SparseVector back;
  bytes.back() = 1 | 1 << 2;  // a sixth value
  EXPECT_THROW(decode_sparse(SparseEncoding::kVarintInt2, bytes, 9, back), Error);
}

TEST(SparseVector, DamagedBytesAreRefusedOrGiveAValidPart) {
  for (SparseEncoding encoding : kSparseEncodings) {
    constexpr uint64_t kSize = 200'000;
    SparseVector part = random_part(4, kSize, 60), back;
    std::string bytes;
    encode_sparse(encoding, part, bytes);
    auto try_decode = [&](std::string_view damaged) {
      try {
        decode_sparse(encoding, damaged, kSize, back);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), Code::kCorrupt);
        return;
      }
      ASSERT_EQ(back.index.size(), back.value.size());
      for (size_t i = 0; i < back.size(); ++i) {
        ASSERT_LT(back.index[i], kSize);
        ASSERT_TRUE(std::isfinite(back.value[i]));
        ASSERT_TRUE(i == 0 || back.index[i - 1] < back.index[i]);
      }
    };
    for (size_t cut = 0; cut < bytes.size(); ++cut) try_decode(std::string_view(bytes).substr(0, cut));
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (int change = 1; change < 256; change += static_cast<int>(try_every())) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ change);
        try_decode(damaged);
      }
    }
  }
}

TEST(SparseVector, ValuesThatAreNoNumbersAndIndicesThatDoNotAscendAreRefused) {
  SparseVector back;
  std::string bytes;
  encode_sparse(SparseEncoding::kRun16, {{1}, {std::numeric_limits<float>::infinity()}}, bytes);
  EXPECT_THROW(decode_sparse(SparseEncoding::kRun16, bytes, 10, back), Error);
  for (uint32_t second : {4u, 5u}) {
    bytes.clear();
    encode_sparse(SparseEncoding::kIndex32, {{5, second}, {1, 1}}, bytes);
    EXPECT_THROW(decode_sparse(SparseEncoding::kIndex32, bytes, 10, back), Error);
  }
}

}  // namespace
}  // namespace ps::sparse_vector_test
