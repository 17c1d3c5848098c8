#include "table/row_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "support/environment.h"
#include "table/table_partition.h"

namespace ps::row_storage_test {
namespace {

using testing::ElementsAre;

// With keys of any value, and with keys below a bound.
class RowStorageTest : public testing::TestWithParam<uint64_t> {
 protected:
  static std::unique_ptr<RowStorage> make(const RowLayout& layout) {
    return GetParam() == 0 ? make_hashed_rows(layout) : make_array_rows(layout, GetParam());
  }

  uint64_t random_key(Random& random) {
    return GetParam() == 0 ? random.below(50'000) * 0x9e3779b97f4a7c15ULL : random.below(50'000);
  }

  float* find(uint64_t key) {
    float* row;
    uint32_t missing;
    store_->find({&key, 1}, &row, &missing);
    return row;
  }

  std::vector<float*> insert(const std::vector<uint64_t>& keys) {
    std::vector<float*> rows(keys.size());
    store_->insert(keys, rows.data(), device_);
    for (size_t i = 0; i < keys.size(); ++i) rows[i][0] = static_cast<float>(keys[i] % 1000);
    return rows;
  }

  std::vector<uint64_t> keys_by_partition() {
    std::vector<uint64_t> keys;
    for (uint32_t p = 0; p < 1u << kPartitionBits; ++p) {
      const size_t before = keys.size();
      auto none = [](std::span<const uint64_t>) {};
      store_->for_each_row(p, none, [&](uint64_t key, float* row) {
        EXPECT_EQ(key_partition(key), p);
        EXPECT_EQ(row, find(key));
        keys.push_back(key);
      });
      EXPECT_EQ(store_->partition_size(p), keys.size() - before);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  Device device_{2, best_cpu_level()};
  const RowLayout layout_{3, 0, false};
  std::unique_ptr<RowStorage> store_ = make(layout_);
};

TEST_P(RowStorageTest, ErasedRowIsGoneAndItsPlaceIsTheNext) {
  std::vector<float*> rows = insert({5, 6});
  EXPECT_EQ(store_->erase(std::vector<uint64_t>{5, 77}), 1) << "77 has no row";
  EXPECT_EQ(find(5), nullptr);
  EXPECT_EQ(find(6), rows[1]);
  EXPECT_EQ(store_->size(), 1);
  EXPECT_EQ(store_->erase(std::vector<uint64_t>{5}), 0);
  EXPECT_THAT(insert({5}), ElementsAre(rows[0]));
  EXPECT_THAT(store_->sorted_keys(), ElementsAre(5, 6));
}

TEST_P(RowStorageTest, KeysThatComeAndGoAreThoseOfAMap) {
  Random random(3, 4);
  std::map<uint64_t, float*> expected;
  for (int64_t round = tries(60); round > 0; --round) {
    std::set<uint64_t> fresh;
    std::vector<uint64_t> gone;
    for (int i = 0; i < 2000; ++i) {
      uint64_t key = random_key(random);
      if (!expected.contains(key)) fresh.insert(key);
    }
    for (const auto& [key, row] : expected) {
      if (random.below(3) == 0) gone.push_back(key);
    }
    gone.push_back(random_key(random));
    uint64_t there = static_cast<uint64_t>(
        std::count_if(gone.begin(), gone.end(), [&](uint64_t key) { return expected.erase(key) > 0; }));
    ASSERT_EQ(store_->erase(gone), there);
    std::erase_if(fresh, [&](uint64_t key) { return find(key) != nullptr; });
    const std::vector<uint64_t> keys(fresh.begin(), fresh.end());
    const std::vector<float*> rows = insert(keys);
    for (size_t i = 0; i < keys.size(); ++i) expected[keys[i]] = rows[i];
    for (uint64_t key : gone) {
      auto known = expected.find(key);
      ASSERT_EQ(find(key), known == expected.end() ? nullptr : known->second);
    }
  }
  std::set<float*> places;
  std::vector<uint64_t> keys;
  for (const auto& [key, row] : expected) {
    ASSERT_EQ(find(key), row);
    ASSERT_EQ(row[0], static_cast<float>(key % 1000)) << "no two rows share a place";
    places.insert(row);
    keys.push_back(key);
  }
  EXPECT_EQ(places.size(), expected.size());
  EXPECT_EQ(store_->size(), expected.size());
  EXPECT_EQ(store_->sorted_keys(), keys);
  EXPECT_EQ(keys_by_partition(), keys);
  std::vector<uint64_t> scanned;
  for (ScanCursor cursor; store_->scan_all(cursor, scanned);) continue;
  std::ranges::sort(scanned);
  EXPECT_EQ(scanned, keys);
}

TEST_P(RowStorageTest, PlacesOfErasedRowsAreTakenBeforeMemoryGrows) {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 40'000; ++key) keys.push_back(key);
  insert(keys);
  store_->erase(keys);
  const uint64_t bytes = store_->memory_bytes();
  for (int round = 0; round < 3; ++round) {
    insert(keys);
    store_->erase(keys);
  }
  EXPECT_EQ(store_->size(), 0);
  EXPECT_EQ(store_->memory_bytes(), bytes);
}

// Keys given while others come and go: what a sweep in small steps sees.
TEST_P(RowStorageTest, ScanGivesEveryKeyThatIsThereAllTheTime) {
  std::vector<uint64_t> stay;
  for (uint64_t key = 0; key < 60'000; key += 2) stay.push_back(key);
  insert(stay);
  std::set<uint64_t> seen;
  std::vector<uint64_t> keys;
  uint64_t next = 1;
  for (uint32_t p = 0; p < 1u << kPartitionBits; ++p) {
    for (uint64_t cursor = 0; store_->scan(p, cursor, keys);) {
      std::vector<uint64_t> fresh;
      for (int i = 0; i < 500 && next < 200'000; ++i, next += 2) fresh.push_back(next);
      insert(fresh);
      fresh.resize(fresh.size() / 2);
      store_->erase(fresh);
    }
  }
  seen.insert(keys.begin(), keys.end());
  for (uint64_t key : stay) ASSERT_TRUE(seen.contains(key)) << key;
}

INSTANTIATE_TEST_SUITE_P(Bounds, RowStorageTest, testing::Values(0, 200'000),
                         [](const auto& bound) { return bound.param == 0 ? "any" : "bounded"; });

// Sizes from 10^4 to 10^7 in steps of 7 %: growth must not be caught at a lucky moment.  The constant: of
// each of 64 partitions, a slab of rows of 16 KiB, and a segment of up to 8 KiB.
TEST(HashedRowsMemory, RowTakesItsFloatsAndAtMost24BytesAtEverySize) {
  constexpr uint64_t kConstant = 64 * (16 + 8) << 10;
  const uint64_t most = static_cast<uint64_t>(tries(10'000'000));
  const RowLayout layout(1, 0, false);
  const uint64_t row_bytes = static_cast<uint64_t>(layout.stride()) * sizeof(float) + 24;
  std::unique_ptr<RowStorage> store = make_hashed_rows(layout);
  Device device(1, best_cpu_level());
  std::vector<uint64_t> keys;
  std::vector<float*> rows;
  for (uint64_t size = 10'000, next = 0; size <= most; size += size * 7 / 100) {
    for (; next < size; ++next) keys.push_back(next);
    rows.resize(keys.size());
    store->insert(keys, rows.data(), device);
    keys.clear();
    ASSERT_EQ(store->size(), size);
    ASSERT_LE(store->memory_bytes(), size * row_bytes + kConstant) << size;
  }
}

// One of four shards has every fourth partition.
TEST(HashedRowsMemory, ShardsRowTakesNoMoreThanATables) {
  const RowLayout layout(1, 0, false);
  for (uint32_t shard : {0u, 3u}) {
    std::unique_ptr<RowStorage> store = make_hashed_rows(layout);
    Device device(1, best_cpu_level());
    std::vector<uint64_t> keys;
    std::vector<float*> rows;
    for (uint64_t size = 300'000, next = 0; size <= 700'000; size += size * 7 / 100) {
      for (const uint64_t more = size - store->size(); keys.size() < more; ++next) {
        if (key_partition(next) % 4 == shard) keys.push_back(next);
      }
      rows.resize(keys.size());
      store->insert(keys, rows.data(), device);
      keys.clear();
      ASSERT_LE(store->memory_bytes(), size * (sizeof(float) + 24) + (64 * 24 << 10)) << size;
    }
  }
}

}  // namespace
}  // namespace ps::row_storage_test
