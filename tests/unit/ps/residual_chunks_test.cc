// Residuals are restored from their chunks, and anything else is refused.
#include "ps/client/residual_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/random.h"

namespace ps::residual_chunks_test {
namespace {

constexpr int64_t kCols = 3;

std::vector<ParameterSpec> specs() {
  std::vector<ParameterSpec> specs(3);
  specs[0].kind = ParameterKind::kRows;
  specs[0].sparse = true;
  specs[0].cols = kCols;
  specs[1].kind = ParameterKind::kMatrix;
  specs[1].rows = 40;
  specs[1].cols = kCols;
  specs[2].kind = ParameterKind::kStatistic;
  specs[2].rows = specs[2].cols = 1;
  return specs;
}

// Errors of some keys, as a step of this number leaves them; what they were before.
std::vector<float> step(ResidualRows& memory, uint64_t number) {
  Random random(number, 1);
  std::vector<uint64_t> keys;
  for (uint64_t key = random.below(9); key < 150; key += 1 + random.below(30)) keys.push_back(key);
  std::vector<float*> errors;
  memory.find(keys, errors);
  std::vector<float> before;
  for (float* error : errors) {
    for (int64_t i = 0; i < kCols; ++i) {
      before.push_back(error[i]);
      error[i] += static_cast<float>(random.uniform()) - 0.5f;
    }
  }
  return before;
}

void put_back(const std::vector<std::string>& chunks, ResidualRows& memory) {
  for (const std::string& chunk : chunks) {
    read_error_chunk(chunk, specs(), [&](uint32_t, ErrorRows rows, uint64_t key, std::string_view error) {
      std::memcpy(memory.put_back(key, rows == ErrorRows::kYoung), error.data(), error.size());
    });
  }
}

std::vector<std::string> encoded(const ResidualChunks& chunks) {
  std::vector<std::string> all;
  for (size_t n = 0; n < chunks.size(); ++n) all.push_back(chunks.encode(n));
  return all;
}

std::vector<std::string> pieces_of(const ResidualRows& memory, uint64_t most_bytes) {
  ResidualChunks chunks(most_bytes);
  chunks.add_keyed(0, kCols, memory);
  return encoded(chunks);
}

// Errors are dropped a generation at a time: what is dropped later depends on the generation of each.
TEST(ResidualChunks, AMemoryThatComesBackAtAnyStepGivesAndDropsTheSame) {
  constexpr uint64_t kBytes = 40 * (kCols * sizeof(float) + 32), kSteps = 60;
  for (uint64_t cut = 0; cut < kSteps; cut += 3) {
    ResidualRows memory(kCols, kBytes), again(kCols, kBytes);
    for (uint64_t number = 0; number < cut; ++number) step(memory, number);
    put_back(pieces_of(memory, 200), again);
    EXPECT_EQ(again.rows(), memory.rows());
    const uint64_t dropped = memory.dropped();
    for (uint64_t number = cut; number < kSteps; ++number) {
      ASSERT_EQ(step(memory, number), step(again, number)) << "step " << number << ", back at " << cut;
    }
    EXPECT_EQ(again.dropped(), memory.dropped() - dropped);
    EXPECT_GT(memory.dropped(), 0u);
  }
}

TEST(ResidualChunks, AreOfBoundedSizeAndHaveEachRowOnce) {
  std::vector<float> whole(40 * kCols);
  for (size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<float>(i);
  ResidualRows memory(kCols, 1 << 20);
  for (uint64_t number = 0; number < 10; ++number) step(memory, number);
  for (const uint64_t most_bytes : {1u, 100u, 1000u, 1u << 20}) {
    ResidualChunks made(most_bytes);
    made.add_keyed(0, kCols, memory);
    made.add_whole(1, kCols, whole);
    const std::vector<std::string> chunks = encoded(made);
    std::vector<float> back(whole.size(), -1);
    size_t keyed = 0;
    for (const std::string& chunk : chunks) {
      EXPECT_LE(chunk.size(), std::max<uint64_t>(most_bytes, 1 + 9 + 8 + kCols * sizeof(float)));
      read_error_chunk(chunk, specs(),
                       [&](uint32_t parameter, ErrorRows, uint64_t key, std::string_view error) {
                         if (parameter == 0) return void(++keyed);
                         EXPECT_EQ(back[key * kCols], -1);
                         std::memcpy(&back[key * kCols], error.data(), error.size());
                       });
    }
    EXPECT_EQ(back, whole);
    EXPECT_EQ(keyed, memory.rows());
    EXPECT_EQ(chunks.size() == 1, most_bytes == 1u << 20);
  }
  EXPECT_EQ(ResidualChunks(100).size(), 0u);
}

std::string refusal(std::string_view chunk) {
  try {
    read_error_chunk(chunk, specs(), [](uint32_t, ErrorRows, uint64_t, std::string_view) {});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    return error.message();
  }
  return "accepted";
}

std::string chunk_of(const std::string& sections) {
  return "\1" + sections;
}

std::string section(uint32_t parameter, int rows, uint64_t key) {
  std::string chunk;
  put(chunk, parameter);
  put(chunk, static_cast<uint8_t>(rows));
  put(chunk, uint32_t{1});
  put(chunk, key);
  chunk.append(kCols * sizeof(float), '\1');
  return chunk;
}

TEST(ResidualChunks, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(refusal(chunk_of(section(0, 1, UINT64_MAX) + section(1, 0, 39))), "accepted");
  EXPECT_THAT(refusal(chunk_of(section(3, 1, 0))), testing::HasSubstr("no parameter 3"));
  EXPECT_THAT(refusal(chunk_of(section(0, 0, 0))), testing::HasSubstr("no rows of kind 0"));
  EXPECT_THAT(refusal(chunk_of(section(0, 3, 0))), testing::HasSubstr("no rows of kind 3"));
  EXPECT_THAT(refusal(chunk_of(section(1, 2, 0))), testing::HasSubstr("no rows of kind 2"));
  EXPECT_THAT(refusal(chunk_of(section(2, 0, 0))), testing::HasSubstr("no rows of kind 0"));
  EXPECT_THAT(refusal(chunk_of(section(1, 0, 40))), testing::HasSubstr("no row 40"));
  const std::string chunk = chunk_of(section(0, 1, 7));
  EXPECT_THAT(refusal(""), testing::HasSubstr("something else"));
  EXPECT_THAT(refusal("\4" + section(0, 1, 7)), testing::HasSubstr("something else"));
  EXPECT_EQ(refusal("\1"), "accepted") << "a chunk without rows";
  for (size_t size = 2; size < chunk.size(); ++size) EXPECT_NE(refusal(chunk.substr(0, size)), "accepted");
  for (size_t i = 0; i < chunk.size(); ++i) {
    std::string flipped = chunk;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x80);
    refusal(flipped);  // or it is read as something else, and nothing worse
  }
}

}  // namespace
}  // namespace ps::residual_chunks_test
