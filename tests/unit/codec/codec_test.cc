// Properties of every codec of the catalogue, and the bounds of each.
#include "codec/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/cpu.h"
#include "base/error.h"
#include "base/random.h"
#include "codec/shared_scale.h"
#include "config/catalog.h"
#include "support/environment.h"

namespace ps::codec_test {
namespace {

using Floats = std::vector<float>;

struct Shape {
  int64_t rows, cols;
};
constexpr Shape kShapes[] = {{1, 1},   {1, 2},   {3, 1},    {17, 5},  {40, 33},
                             {1, 511}, {1, 513}, {2, 2048}, {300, 70}};

// Every entry as it is, and with each of its settings that make it another codec.
std::vector<Json> every_codec() {
  std::vector<Json> out;
  for (const CodecEntry* entry : codec_catalog()) {
    out.push_back({{"type", entry->name}});
    for (const auto& field : entry->spec().fields()) {
      for (const std::string& choice : field->choices)
        out.push_back({{"type", entry->name}, {field->name, choice}});
    }
  }
  out.push_back({{"type", "shared_scale_int"}, {"bits", 16}, {"chunk", 100}});
  out.push_back({{"type", "int8"}, {"block", 1}});
  out.push_back({{"type", "one_bit"}, {"block", 512}});
  out.push_back({{"type", "top_k"}, {"density", 1}});
  out.push_back({{"type", "low_rank"}, {"rank", 1}});
  return out;
}

std::unique_ptr<Codec> made(const Json& object, Shape shape, uint64_t seed = 5,
                            CpuLevel cpu = best_cpu_level()) {
  return make_codec(object, "codec",
                    {.rows = shape.rows, .cols = shape.cols, .seed = seed, .key = 3, .cpu = cpu});
}

// Values of all sizes and both signs, with some zeros and repeated ones.
Floats values_of(uint64_t stream, size_t size, double smallest = -12, double largest = 2) {
  Random random(31, stream);
  Floats all(size);
  for (float& value : all) {
    const double exponent = smallest + random.uniform() * (largest - smallest);
    value = static_cast<float>((random.below(2) == 0 ? 1 : -1) * std::exp2(exponent));
    if (random.below(16) == 0) value = 0;
    if (random.below(16) == 0) value = 0.25f;
  }
  return all;
}

Floats decoded(const Codec& codec, const std::string& bytes, size_t size) {
  Floats out(size, 77);
  codec.decode(bytes, out);
  return out;
}

size_t size_of(Shape shape) {
  return static_cast<size_t>(shape.rows * shape.cols);
}

// A codec whose decoded values and residual are the sum to the bit.
bool exact(const Json& codec) {
  const std::string type = codec["type"];
  return type != "one_bit" && type != "threshold" && type != "low_rank" &&
         codec.value("rounding", "") != "stochastic";
}

TEST(Codec, DecodedValuesAndResidualAreValuesAndOldResidual) {
  for (const Json& object : every_codec()) {
    for (Shape shape : kShapes) {
      std::unique_ptr<Codec> codec = made(object, shape);
      std::string bytes;
      Floats old(size_of(shape));
      for (uint64_t step = 0; step < 5; ++step) {
        const Floats values = values_of(step, size_of(shape));
        codec->encode(values, bytes);
        const Floats back = decoded(*codec, bytes, values.size());
        const Floats kept = codec->residual().empty()
                                ? Floats(values.size())
                                : Floats(codec->residual().begin(), codec->residual().end());
        for (size_t i = 0; i < values.size(); ++i) {
          const float sum = values[i] + old[i];
          const double together = static_cast<double>(back[i]) + static_cast<double>(kept[i]);
          // The rounding of one subtraction.
          const double bound = exact(object) ? 0 : 0x1p-23 * std::max(std::fabs(sum), std::fabs(back[i]));
          ASSERT_NEAR(together, static_cast<double>(sum), bound)
              << object.dump() << " value " << i << " step " << step;
        }
        old = kept;
      }
    }
  }
}

TEST(Codec, WithoutFeedbackNothingIsKeptAndStepsAreAlike) {
  for (const Json& plain : every_codec()) {
    if (plain["type"] == "none" || plain["type"] == "low_rank") continue;
    Json object = plain;
    object["error_feedback"] = false;
    std::unique_ptr<Codec> codec = made(object, {40, 33});
    const Floats values = values_of(1, 1320);
    std::string first, second;
    codec->encode(values, first);
    codec->encode(values, second);
    EXPECT_TRUE(codec->residual().empty());
    if (plain.value("rounding", "") != "stochastic") {
      EXPECT_EQ(first, second) << object.dump();
    }
    EXPECT_EQ(decoded(*codec, first, values.size()).size(), values.size());
  }
}

TEST(Codec, EveryLevelGivesTheSameBits) {
  for (const Json& object : every_codec()) {
    for (Shape shape : kShapes) {
      std::string first_bytes, first_state;
      Floats first_values;
      for (CpuLevel level : possible_levels(cpu_features())) {
        std::unique_ptr<Codec> codec = made(object, shape, 5, level);
        std::string bytes, state;
        for (uint64_t step = 0; step < 3; ++step)
          codec->encode(values_of(step, size_of(shape), -40, 40), bytes);
        codec->save(state);
        const Floats back = decoded(*codec, bytes, size_of(shape));
        if (level == CpuLevel::kBaseline) first_bytes = bytes, first_state = state, first_values = back;
        ASSERT_EQ(bytes, first_bytes) << object.dump() << " " << cpu_level_name(level);
        ASSERT_EQ(state, first_state) << object.dump() << " " << cpu_level_name(level);
        ASSERT_EQ(back, first_values) << object.dump() << " " << cpu_level_name(level);
      }
    }
  }
}

TEST(Codec, ALoadedCodecGoesOnWithTheSameBytes) {
  for (const Json& object : every_codec()) {
    std::unique_ptr<Codec> codec = made(object, {40, 33});
    std::string bytes, other, state;
    for (uint64_t step = 0; step < 3; ++step) codec->encode(values_of(step, 1320), bytes);
    codec->save(state);
    std::unique_ptr<Codec> twin = made(object, {40, 33});
    ByteReader in(state);
    twin->load(in);
    EXPECT_EQ(in.remaining(), 0u);
    for (uint64_t step = 3; step < 6; ++step) {
      codec->encode(values_of(step, 1320), bytes);
      twin->encode(values_of(step, 1320), other);
      ASSERT_EQ(bytes, other) << object.dump();
    }
    for (size_t cut = 0; cut < state.size(); cut += 97) {
      ByteReader part(std::string_view(state).substr(0, cut));
      EXPECT_THROW(made(object, {40, 33})->load(part), Error) << object.dump() << " cut at " << cut;
    }
  }
}

// Rows by key have residuals by key: in whatever company a row comes, what it is owed is its own.
TEST(Codec, RowsKeepTheirResidualsByKey) {
  for (const Json& object : every_codec()) {
    std::unique_ptr<Codec> codec = made(object, {0, 7});
    std::vector<std::vector<double>> owed(10, std::vector<double>(7)), sent = owed;
    Random random(1, 2);
    std::string bytes, state;
    for (uint64_t step = 0; step < 30; ++step) {
      std::vector<uint64_t> keys;
      for (uint64_t key = 0; key < 10; ++key) {
        if (step == 29 || random.below(2) == 0) keys.push_back(key);
      }
      const Floats values = values_of(step, keys.size() * 7, -6, 0);
      codec->encode_rows(keys, values, bytes);
      const Floats back = decoded(*codec, bytes, values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        owed[keys[i / 7]][i % 7] += static_cast<double>(values[i]);
        sent[keys[i / 7]][i % 7] += static_cast<double>(back[i]);
      }
    }
    // A twin that is loaded owes the same: rows of zeros bring out what is kept.
    codec->save(state);
    std::unique_ptr<Codec> twin = made(object, {0, 7});
    ByteReader in(state);
    twin->load(in);
    std::string other;
    const std::vector<uint64_t> keys = {9, 4, 0, 1, 2, 3, 5, 6, 7, 8};
    const Floats zeros(70);
    for (int step = 0; step < 400; ++step) {
      codec->encode_rows(keys, zeros, bytes);
      twin->encode_rows(keys, zeros, other);
      ASSERT_EQ(bytes, other) << object.dump();
      const Floats back = decoded(*codec, bytes, 70);
      for (size_t i = 0; i < 70; ++i) sent[keys[i / 7]][i % 7] += static_cast<double>(back[i]);
    }
    // Sizes below tau never go out, and signs go round what they mean by up to what the block holds.
    const double bound = object["type"] == "threshold" ? 0.0011 : object["type"] == "one_bit" ? 0.5 : 1e-3;
    const bool slow = object["type"] == "threshold";  // a step of tau a call
    for (size_t key = 0; key < 10 && !slow; ++key) {
      for (size_t j = 0; j < 7; ++j)
        ASSERT_NEAR(sent[key][j], owed[key][j], bound) << object.dump() << " key " << key;
    }
  }
}

TEST(Codec, WhatIsNotFiniteIsRefusedWithItsIndex) {
  const float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  for (const Json& object : every_codec()) {
    for (size_t at : {size_t{0}, size_t{100}, size_t{1319}}) {
      for (float odd : {kNan, kInf, -kInf}) {
        Floats values = values_of(3, 1320);
        values[at] = odd;
        std::string bytes;
        try {
          made(object, {40, 33})->encode(values, bytes);
          FAIL() << object.dump() << " took " << odd;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::kData);
          EXPECT_NE(error.message().find(cat("value ", at, " ")), std::string::npos) << error.message();
        }
      }
    }
  }
}

TEST(Codec, HugeAndTinyValuesAreEncodedOrRefused) {
  for (const Json& object : every_codec()) {
    for (float size : {std::numeric_limits<float>::max(), 1e-38f, 1e-45f}) {
      Floats values(600);
      for (size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? size : i % 3 == 1 ? -size : 0;
      std::unique_ptr<Codec> codec = made(object, {20, 30});
      std::string bytes;
      try {
        codec->encode(values, bytes);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kData) << object.dump();
        EXPECT_GT(size, 1) << object.dump();
        continue;
      }
      for (float value : decoded(*codec, bytes, values.size()))
        ASSERT_TRUE(std::isfinite(value)) << object.dump();
      for (float value : codec->residual()) ASSERT_TRUE(std::isfinite(value)) << object.dump();
    }
  }
}

TEST(Codec, NoRowsAreNoBytesThatDecode) {
  for (const Json& object : every_codec()) {
    std::unique_ptr<Codec> codec = made(object, {0, 4});
    std::string bytes = "left over";
    codec->encode_rows({}, {}, bytes);
    EXPECT_LE(bytes.size(), 100u) << object.dump();
    Floats none;
    codec->decode(bytes, none);
  }
}

// Bytes that are cut short or changed give an error or some values: never a crash, and never an exception of
// another kind.
TEST(Codec, DamagedBytesAreRefusedOrDecoded) {
  for (const Json& object : every_codec()) {
    std::unique_ptr<Codec> codec = made(object, {40, 33});
    std::string bytes;
    codec->encode(values_of(9, 1320), bytes);
    auto try_decode = [&](std::string_view damaged) {
      Floats out(1320);
      try {
        codec->decode(damaged, out);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), Code::kCorrupt) << object.dump();
      }
    };
    const size_t every = static_cast<size_t>(try_every());
    for (size_t cut = 0; cut < bytes.size(); cut += every) try_decode(std::string_view(bytes).substr(0, cut));
    for (size_t i = 0; i < bytes.size(); i += i < 32 ? 1 : every) {
      for (int bit : {0, 3, 7}) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
        try_decode(damaged);
      }
    }
    if (object["type"] != "threshold") {  // whose bytes may have any length that is a multiple of 4
      Floats out(1320);
      EXPECT_THROW(codec->decode(bytes + "x", out), Error) << object.dump();
      EXPECT_THROW(codec->decode(std::string_view(bytes).substr(1), out), Error) << object.dump();
    }
  }
}

TEST(Codec, UnknownNamesAndValuesOutOfRangeAreErrorsThatNameTheKey) {
  const std::pair<Json, std::string> wrong[] = {
      {{{"type", "fp61"}}, "codec.type: unknown codec 'fp61' (did you mean 'fp16'?)"},
      {{{"type", "one_bit"}, {"block", 1000}}, "codec.block: 1000 is not a multiple of 512"},
      {{{"type", "shared_scale_int"}, {"bits", 9}}, "codec.bits: 9, expected 8 or 16"},
      {{{"type", "top_k"}, {"density", 0}}, "codec.density"},
      {{{"type", "int8"}, {"rounding", "up"}}, "codec.rounding"}};
  for (const auto& [object, message] : wrong) {
    try {
      made(object, {2, 2});
      ADD_FAILURE() << object.dump();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      EXPECT_NE(error.message().find(message), std::string::npos) << error.message();
    }
  }
}

// Relative to the norm, on normal numbers.
double error_of(const Json& object, const Floats& values, Shape shape) {
  std::unique_ptr<Codec> codec = made(object, shape);
  std::string bytes;
  codec->encode(values, bytes);
  const Floats back = decoded(*codec, bytes, values.size());
  double squares = 0, errors = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    squares += std::pow(static_cast<double>(values[i]), 2);
    errors += std::pow(static_cast<double>(values[i]) - static_cast<double>(back[i]), 2);
  }
  return std::sqrt(errors / squares);
}

TEST(Codec, ErrorsAreThoseOfTheFormats) {
  Random random(3, 4);
  Floats normal(1 << 16);
  for (float& value : normal) value = static_cast<float>(random.normal());
  const Shape shape{256, 256};
  EXPECT_EQ(error_of({{"type", "none"}}, normal, shape), 0);
  EXPECT_LT(error_of({{"type", "fp16"}}, normal, shape), 0x1p-11 / 1.5);
  EXPECT_LT(error_of({{"type", "bf16"}}, normal, shape), 0x1p-8 / 1.5);
  // Steps of about 3 deviations / 127, uniform rounding: a step / sqrt(12); stochastic: sqrt(2) of it.
  EXPECT_NEAR(error_of({{"type", "int8"}}, normal, shape), 2.8 / 127 / std::sqrt(12), 0.001);
  EXPECT_NEAR(error_of({{"type", "int8"}, {"rounding", "stochastic"}}, normal, shape),
              2.8 / 127 / std::sqrt(6), 0.0015);
  // The largest of 4096 normal numbers is about 4, so that a step is 1/32 in some chunks and 1/16 in others.
  EXPECT_GT(error_of({{"type", "shared_scale_int"}}, normal, shape), 1.0 / 32 / std::sqrt(12) * 0.99);
  EXPECT_LT(error_of({{"type", "shared_scale_int"}}, normal, shape), 1.0 / 16 / std::sqrt(12));
  EXPECT_LT(error_of({{"type", "shared_scale_int"}, {"bits", 16}}, normal, shape),
            1.0 / 4096 / std::sqrt(12));
  // The mean size of a normal number is sqrt(2 / pi): what is left is 1 - 2 / pi of the variance.
  EXPECT_NEAR(error_of({{"type", "one_bit"}}, normal, shape), std::sqrt(1 - 2 / 3.14159265), 0.01);
  // The largest tenth has 0.439 of the squares.
  EXPECT_NEAR(error_of({{"type", "top_k"}, {"density", 0.1}, {"selection", "exact"}}, normal, shape),
              std::sqrt(1 - 0.439), 0.02);
}

TEST(Codec, AMatrixOfLowRankComesBackWholeAfterAFewSteps) {
  const Shape shape{60, 40};
  Random random(3, 5);
  Floats matrix(2400);
  for (int k = 0; k < 3; ++k) {
    Floats p(60), q(40);
    for (float& x : p) x = static_cast<float>(random.normal());
    for (float& x : q) x = static_cast<float>(random.normal());
    for (size_t i = 0; i < 2400; ++i) matrix[i] += p[i / 40] * q[i % 40];
  }
  // The matrix has rank 3: one step with 4 pairs of vectors represents it fully.
  EXPECT_LT(error_of({{"type", "low_rank"}, {"rank", 4}}, matrix, shape), 1e-5);
  EXPECT_GT(error_of({{"type", "low_rank"}, {"rank", 2}}, matrix, shape), 0.05);
  // Power iteration that starts from the last factor finds the best pair, which a single step does not.
  std::unique_ptr<Codec> warm = made({{"type", "low_rank"}, {"rank", 1}, {"error_feedback", false}}, shape);
  std::string bytes;
  std::vector<double> errors;
  for (int step = 0; step < 20; ++step) {
    warm->encode(matrix, bytes);
    const Floats back = decoded(*warm, bytes, matrix.size());
    double left = 0;
    for (size_t i = 0; i < matrix.size(); ++i) left += std::pow(static_cast<double>(matrix[i] - back[i]), 2);
    errors.push_back(left);
  }
  EXPECT_LT(errors.back(), errors.front());
  EXPECT_NEAR(errors.back(), errors[18], 1e-3 * errors.back());
}

TEST(Codec, StochasticRoundingIsRightOnTheMeanAndBySeed) {
  const Json object = {{"type", "int8"}, {"rounding", "stochastic"}, {"error_feedback", false}};
  Floats values(256, 0.3f);
  values[0] = 127;  // steps of 1
  std::unique_ptr<Codec> codec = made(object, {1, 256}), twin = made(object, {1, 256}),
                         other = made(object, {1, 256}, 6);
  double sum = 0;
  std::string bytes, same, different;
  for (int step = 0; step < 200; ++step) {
    codec->encode(values, bytes);
    twin->encode(values, same);
    other->encode(values, different);
    ASSERT_EQ(bytes, same);
    ASSERT_NE(bytes, different);
    const Floats back = decoded(*codec, bytes, 256);
    for (size_t i = 1; i < 256; ++i) {
      ASSERT_TRUE(back[i] == 0 || back[i] == 1);
      sum += static_cast<double>(back[i]);
    }
  }
  EXPECT_NEAR(sum / (255 * 200), 0.3, 4 * std::sqrt(0.21 / (255 * 200)));
}

TEST(SharedScale, SumsHaveTheSameBitsInAnyOrder) {
  for (int bits : {8, 16}) {
    const Json object = {{"type", "shared_scale_int"}, {"bits", bits}, {"chunk", 100}};
    std::vector<std::string> parts(5);
    std::vector<double> exact_sums(1320);
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      std::unique_ptr<Codec> codec = made(object, {40, 33});
      // Scales of ranks differ by up to 2^60.
      const double far = static_cast<double>(rank) * 15;
      codec->encode(values_of(rank, 1320, -12 - far, 2 - far), parts[rank]);
      const Floats back = decoded(*codec, parts[rank], 1320);
      for (size_t i = 0; i < 1320; ++i) exact_sums[i] += static_cast<double>(back[i]);
    }
    std::vector<std::string_view> order(parts.begin(), parts.end());
    std::sort(order.begin(), order.end());
    Floats first(1320), sums(1320);
    sum_shared_scale({100, bits}, order, first);
    for (size_t i = 0; i < 1320; ++i)
      ASSERT_NEAR(static_cast<double>(first[i]), exact_sums[i], 0x1p-23 * std::fabs(exact_sums[i]) + 0x1p-36);
    while (std::next_permutation(order.begin(), order.end())) {
      sum_shared_scale({100, bits}, order, sums);
      ASSERT_EQ(sums, first);
    }
    order[2] = order[2].substr(1);
    EXPECT_THROW(sum_shared_scale({100, bits}, order, sums), Error);
  }
}

}  // namespace
}  // namespace ps::codec_test
