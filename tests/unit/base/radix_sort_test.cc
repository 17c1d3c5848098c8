#include "base/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace ps::radix_sort_test {
namespace {

TEST(RadixSort, SortsAsComparingDoes) {
  Random random(5, 6);
  for (uint64_t bits : {0, 7, 8, 20, 64}) {
    for (size_t size : {0, 1, 2, 1000}) {
      std::vector<uint64_t> keys(size);
      for (uint64_t& key : keys) key = bits == 0 ? 5 : random.next64() >> (64 - bits);
      std::vector<uint64_t> expected = keys;
      std::sort(expected.begin(), expected.end());
      radix_sort(keys);
      EXPECT_EQ(keys, expected);
    }
  }
}

TEST(RadixSort, KeepsTheOrderOfItemsWithTheSameKey) {
  struct Item {
    uint32_t key;
    int place;
  };
  Random random(7, 8);
  std::vector<Item> items;
  for (int i = 0; i < 5000; ++i) items.push_back({static_cast<uint32_t>(random.below(300) << 20), i});
  radix_sort(items, [](const Item& item) { return item.key; });
  for (size_t i = 1; i < items.size(); ++i) {
    ASSERT_LE(items[i - 1].key, items[i].key);
    if (items[i - 1].key < items[i].key) continue;
    ASSERT_LT(items[i - 1].place, items[i].place);
  }
}

}  // namespace
}  // namespace ps::radix_sort_test
