#include "table/counted_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/random.h"

namespace ps::counted_keys_test {
namespace {

TEST(CountedKeys, CountsAsAMapDoes) {
  CountedKeys counted;
  std::map<uint64_t, KeyCount> expected;
  Random random(1, 0);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t key = random.below(5000) << (random.below(2) * 50);
    if (random.below(4) == 0 && expected.contains(key)) {
      counted.remove(key);
      expected.erase(key);
    } else {
      const KeyCount count{1 + random.next32() % 3, random.next32() % 2};
      KeyCount& sum = expected[key];
      sum = {sum.shows + count.shows, sum.clicks + count.clicks};
      ASSERT_EQ(counted.add(key, count), sum) << "key " << key << " at " << i;
    }
    ASSERT_EQ(counted.size(), expected.size());
  }
  EXPECT_GT(expected.size(), 4000u);
}

TEST(CountedKeys, CountsStopAtWhatTheyHold) {
  CountedKeys counted;
  EXPECT_EQ(counted.add(7, {UINT32_MAX, UINT32_MAX}), (KeyCount{65535, 65535}));
  EXPECT_EQ(counted.add(7, {1, 0}), (KeyCount{65535, 65535}));
}

TEST(CountedKeys, HalvingForgetsTheRarestInWhateverOrderTheyCame) {
  std::vector<std::pair<uint64_t, uint32_t>> keys;  // with their shows
  for (uint64_t key = 0; key < 1000; ++key) keys.emplace_back(key, key < 600 ? 1 : key < 900 ? 3 : 9);
  for (int order = 0; order < 2; ++order, std::reverse(keys.begin(), keys.end())) {
    CountedKeys counted;
    for (const auto& [key, shows] : keys) counted.add(key, {shows, 1});
    counted.halve_to(1000);
    EXPECT_EQ(counted.size(), 1000u) << "there is room";
    counted.halve_to(999);
    EXPECT_EQ(counted.size(), 400u) << "all that came once are gone, though one would have done";
    EXPECT_EQ(counted.add(600, {1, 0}), (KeyCount{2, 0})) << "3 halved, and 1";
    EXPECT_EQ(counted.add(999, {1, 1}), (KeyCount{5, 1}));
    EXPECT_EQ(counted.add(1, {1, 0}), (KeyCount{1, 0})) << "begins anew";
    counted.halve_to(100);
    EXPECT_EQ(counted.size(), 100u) << "300 keys with 1, and two with 2 and 1, are gone";
  }
}

TEST(CountedKeys, AKeyTakes32BytesAtMost) {
  CountedKeys counted;
  for (uint64_t key = 0; key < 100000; ++key) {
    counted.add(key * 977, {1, 0});
    if (key < 16) continue;
    ASSERT_LE(counted.memory_bytes(), (key + 1) * 33) << key;
  }
}

TEST(CountedKeys, ComeBackFromTheirBytesAndDamageIsTold) {
  CountedKeys counted, read;
  for (uint64_t key = 0; key < 1000; ++key) counted.add(key * 977, {static_cast<uint32_t>(1 + key % 5), 1});
  std::string bytes, again;
  counted.save(bytes);
  ByteReader in(bytes);
  read.load(in);
  EXPECT_EQ(in.remaining(), 0u);
  read.save(again);
  EXPECT_EQ(again, bytes);
  EXPECT_EQ(read.add(977, {1, 0}), (KeyCount{3, 1}));
  ByteReader cut(std::string_view(bytes).substr(0, bytes.size() - 1));
  EXPECT_THROW(CountedKeys().load(cut), Error);
  bytes[8 + 8] = 0;  // the shows of the first key
  ByteReader damaged(bytes);
  EXPECT_THROW(CountedKeys().load(damaged), Error);
}

}  // namespace
}  // namespace ps::counted_keys_test
