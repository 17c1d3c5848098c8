// sort_rows against the standard library's sort, for rows that it sorts in its several ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/writer.h"

namespace ps::writer_sort_test {

using Row = std::vector<std::pair<Key, float>>;

static Row random_row(uint64_t size, Key bound, Random& random) {
  Row row;
  for (uint64_t i = 0; i < size; ++i)
    row.emplace_back(random.below(bound), static_cast<float>(random.below(3)));
  return row;
}

// Returns the row after sort_rows.  The row stands between two others, which sort_rows must not change.
static Row sorted(const Row& row, bool valued) {
  DataSchema schema{{{"features", false, 0}}};
  Batch batch;
  batch.clear(schema);
  SlotData& slot = batch.slots[0];
  auto append = [&](const Row& ids) {
    for (auto [key, value] : ids) {
      slot.keys.push_back(key);
      if (valued) slot.values.push_back(value);
    }
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
  };
  append({{5, 1.0f}});
  append(row);
  append({{3, 1.0f}});
  sort_rows(schema, batch);
  EXPECT_EQ(slot.keys.front(), 5u);
  EXPECT_EQ(slot.keys.back(), 3u);
  Row out;
  for (size_t i = 1; i + 1 < slot.keys.size(); ++i)
    out.emplace_back(slot.keys[i], valued ? slot.values[i] : 0.0f);
  return out;
}

TEST(SortRows, SortsRowsOfAnyLengthRangeAndRepeats) {
  Random random(1, 4);
  for (uint64_t size : {0, 1, 2, 7, 8, 9, 40, 95, 96, 97, 200, 3000}) {
    // Repeats, ids that nearly fill their range, spread ones, those around 2^31, and of all 64 bits.
    for (Key bound : {Key{3}, Key{size + 1}, Key{18'000'000}, Key{1} << 31, Key{1} << 32, ~Key{0}}) {
      Row row = random_row(size, bound, random);
      if (size > 2) row[1].first = bound - 1;
      for (bool valued : {false, true}) {
        Row expected = row;
        for (auto& [key, value] : expected) value = valued ? value : 0.0f;
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(sorted(row, valued), expected) << size << " ids below " << bound;
      }
    }
  }
}

}  // namespace ps::writer_sort_test
