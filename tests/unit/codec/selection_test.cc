#include "codec/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/cpu.h"
#include "base/random.h"
#include "normal_values.h"

namespace ps::selection_test {
namespace {

constexpr uint64_t kSeed = 41;

// The plain way: partitions all by size, equal ones by index, and takes no zeros.
SparseVector sorted_selection(const Floats& values, uint64_t count) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::nth_element(order.begin(), order.begin() + static_cast<int64_t>(count), order.end(),
                   [&](uint32_t a, uint32_t b) {
                     const float x = std::fabs(values[a]), y = std::fabs(values[b]);
                     return x != y ? x > y : a < b;
                   });
  order.resize(count);
  std::sort(order.begin(), order.end());
  SparseVector part;
  for (uint32_t i : order) {
    if (values[i] == 0) continue;
    part.index.push_back(i);
    part.value.push_back(values[i]);
  }
  return part;
}

SparseVector selected(Selection kind, const Floats& values, uint64_t count, uint64_t draw = 1,
                      CpuLevel cpu = best_cpu_level()) {
  Selector selector(kind, cpu);
  SparseVector part;
  selector.select(values, count, draw, part);
  return part;
}

TEST(Selection, ExactIsWhatSortingGives) {
  for (size_t size : {1, 2, 15, 127, 128, 129, 5000, 100'000, 300'001}) {
    Floats values = normal_values(kSeed, size, size);
    for (size_t i = 0; i < size; i += 3) values[i] = i % 2 == 0 ? 0.75f : -0.75f;  // many that are equal
    for (uint64_t count : {size_t{0}, size_t{1}, size / 1000, size / 10, size / 2, size}) {
      if (count > size) continue;
      EXPECT_EQ(selected(Selection::kExact, values, count), sorted_selection(values, count))
          << size << " " << count;
    }
  }
}

TEST(Selection, SampledIsExactWhereEnoughPassAndInItsBandElsewhere) {
  constexpr size_t kSize = 1 << 18, kCount = kSize / 100;
  int exact = 0;
  for (uint64_t stream = 0; stream < 20; ++stream) {
    const Floats values = normal_values(kSeed, stream, kSize);
    const SparseVector part = selected(Selection::kSampled, values, kCount, stream);
    ASSERT_LE(part.size(), kCount);
    ASSERT_GE(static_cast<double>(part.size()), kLeastSelected * kCount);
    if (part.size() == kCount) {
      ++exact;
      ASSERT_EQ(part, sorted_selection(values, kCount));
    }
  }
  EXPECT_GE(exact, 18);
}

// Rows whose neighbours are alike, and a few rows that are a thousand times larger, which a sample may miss.
TEST(Selection, KeepsItsBandWhereNeighboursAreAlike) {
  constexpr size_t kSize = 1 << 18, kRow = 4096;
  for (uint64_t stream = 0; stream < 5; ++stream) {
    Floats values = normal_values(kSeed, stream, kSize);
    Random random(5, stream);
    for (size_t row = 0; row < kSize / kRow; ++row) {
      const float scale =
          random.below(64) == 0 ? 1000.0f : 0.001f * static_cast<float>(1 + random.below(100));
      for (size_t i = 0; i < kRow; ++i) values[row * kRow + i] *= scale;
    }
    for (uint64_t count : {uint64_t{100}, uint64_t{2000}, uint64_t{50'000}}) {
      const SparseVector part = selected(Selection::kSampled, values, count, stream);
      ASSERT_LE(part.size(), count);
      ASSERT_GE(static_cast<double>(part.size()), kLeastSelected * static_cast<double>(count)) << count;
      ASSERT_EQ(selected(Selection::kExact, values, count, stream), sorted_selection(values, count)) << count;
    }
  }
}

TEST(Selection, ZerosAreNeverSelected) {
  Floats values(1 << 18);
  EXPECT_EQ(selected(Selection::kSampled, values, 1000).size(), 0u);
  values[77] = -0.0f, values[5] = 1e-45f, values[200'000] = -3;
  const SparseVector expected{{5, 200'000}, {1e-45f, -3}};
  EXPECT_EQ(selected(Selection::kSampled, values, 1000), expected);
  EXPECT_EQ(selected(Selection::kExact, values, 1000), expected);
}

TEST(Selection, RanksAreThoseOfSorting) {
  Floats values = normal_values(kSeed, 3, 4001);
  values[17] = 0, values[18] = 1e-44f;
  Floats sizes;
  for (float value : values) sizes.push_back(std::fabs(value));
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  for (size_t count = 1; count <= values.size(); ++count) {
    ASSERT_EQ(size_of_rank(values, count), std::bit_cast<uint32_t>(sizes[count - 1])) << count;
  }
  EXPECT_EQ(size_of_rank(values, 4002), 0u);
}

TEST(Selection, EveryLevelSelectsTheSame) {
  const Floats values = normal_values(kSeed, 8, 700'003);
  const SparseVector first = selected(Selection::kSampled, values, 700);
  for (CpuLevel level : possible_levels(cpu_features())) {
    EXPECT_EQ(selected(Selection::kSampled, values, 700, 1, level), first) << cpu_level_name(level);
  }
}

}  // namespace
}  // namespace ps::selection_test
