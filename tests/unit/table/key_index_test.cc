#include "table/key_index.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "base/random.h"

namespace ps::key_index_test {
namespace {

// The key with a given hash: hash_key undone.
uint64_t unhash(uint64_t hash) {
  hash ^= hash >> 33;
  hash *= 0x9cb4b2f8129337dbULL;
  hash ^= hash >> 33;
  hash *= 0x4f74430c22a54005ULL;
  hash ^= hash >> 33;
  return hash;
}

// Keys of one bucket, all with one mark: number n.
uint64_t alike(uint32_t n) {
  return unhash(uint64_t{n} << 44 | 1);
}

class KeyIndexTest : public testing::Test {
 protected:
  HugeArena arena_;
  KeyIndex index_{arena_};
};

TEST_F(KeyIndexTest, KeysWhoseHashesAreAlikeAreRefusedBeforeTheyTakeAllMemory) {
  EXPECT_THROW(for (uint32_t i = 0; i < 1000; ++i) index_.insert(unhash(uint64_t{i} << 40), i), Error);
}

TEST_F(KeyIndexTest, KeysBeyondABucketAreFoundAfterOthersOfItAreErased) {
  constexpr uint32_t kKeys = 3 * KeyIndex::Bucket::kSlots;
  for (uint32_t n = 0; n < kKeys; ++n) index_.insert(alike(n), n);
  for (uint32_t gone = 0; gone < kKeys; ++gone) {
    EXPECT_EQ(index_.erase(alike(gone)), gone);
    EXPECT_EQ(index_.erase(alike(gone)), KeyIndex::kNone);
    for (uint32_t n = 0; n < kKeys; ++n) {
      ASSERT_EQ(index_.find(alike(n)), n > gone ? n : KeyIndex::kNone) << n << " after " << gone;
    }
  }
}

// Marks stay behind when keys out of their bucket go: were they never cleared, all buckets would come to have
// them, and a key that is not there would be looked for in every one.
TEST_F(KeyIndexTest, MissEndsAfterAnyNumberOfKeysCameAndWent) {
  Random random(1, 2);
  std::map<uint64_t, uint32_t> expected;
  for (uint32_t i = 0; i < 200'000; ++i) {
    uint64_t key = unhash(random.below(450) << 44 | random.below(100) << 9);
    auto known = expected.find(key);
    if (known == expected.end()) {
      ASSERT_EQ(index_.find(key), KeyIndex::kNone);
      ASSERT_EQ(index_.erase(key), KeyIndex::kNone);
      index_.insert(key, i);
      expected[key] = i;
    } else {
      ASSERT_EQ(index_.find(key), known->second);
    }
    if (expected.size() < 400) continue;
    auto victim = expected.lower_bound(random.next64());
    if (victim == expected.end()) victim = expected.begin();
    ASSERT_EQ(index_.erase(victim->first), victim->second);
    expected.erase(victim);
  }
  for (const auto& [key, number] : expected) ASSERT_EQ(index_.find(key), number);
}

}  // namespace
}  // namespace ps::key_index_test
