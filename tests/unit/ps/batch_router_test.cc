#include "ps/wire/batch_router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace ps::batch_router_test {
namespace {

ParameterSpec table(const char* name, bool by_keys) {
  ParameterSpec spec;
  spec.name = name;
  spec.kind = by_keys ? ParameterKind::kRows : ParameterKind::kMatrix;
  spec.sparse = by_keys;
  spec.rows = 100000;
  spec.cols = 16;
  return spec;
}

TEST(BatchRouterTest, ABundleIsReadyWhenItIsFullAndEachIsOnce) {
  const std::vector<ParameterSpec> specs{table("sparse", true), table("dense", false)};
  BatchRouter router(specs, {{2, 0, 2, 0}, {2, 1, 2, 1}});
  std::vector<uint64_t> keys(40000);
  std::iota(keys.begin(), keys.end(), uint64_t{0});
  std::vector<std::vector<const Bundle*>> ready(2);
  std::vector<size_t> bytes(2);
  router.begin([&](size_t shard, Bundle& bundle) {
    ready[shard].push_back(&bundle);
    bytes[shard] += bundle.row_slices.size();
  });
  router.add_keys(0, keys);
  EXPECT_GT(ready[0].size(), 1u) << "some are on their way before all are made";
  router.add_all(1);
  router.end();
  for (size_t shard = 0; shard < 2; ++shard) {
    const auto& bundles = router.bundles(shard);
    ASSERT_EQ(ready[shard].size(), bundles.size());
    for (size_t b = 0; b < bundles.size(); ++b) {
      EXPECT_EQ(ready[shard][b], &bundles[b]);
      bytes[shard] -= bundles[b].row_slices.size();
    }
    EXPECT_EQ(bytes[shard], 0u) << "nothing was added to a bundle that was ready";
  }
}

// Whatever the number of shards: each key goes to one, and comes with its own counts.
TEST(BatchRouterTest, EachPieceKnowsTheKeysOfItsRows) {
  const std::vector<ParameterSpec> specs{table("dense", false), table("sparse", true)};
  std::vector<uint64_t> keys(30000);
  std::vector<KeyCount> counts(keys.size());
  for (size_t n = 0; n < keys.size(); ++n) {
    keys[n] = 3 * n;
    counts[n] = {static_cast<uint32_t>(7 + n % 50), static_cast<uint32_t>(n % 7)};
  }
  for (const int shards : {1, 3}) {
    std::vector<ShardPlace> places;
    for (int s = 0; s < shards; ++s) places.push_back({shards, s, shards, s});
    BatchRouter router(specs, places);
    router.begin();
    router.add_keys(1, keys, counts);
    router.end();
    std::vector<int> seen(keys.size());
    for (size_t shard = 0; shard < places.size(); ++shard) {
      for (const Bundle& bundle : router.bundles(shard)) {
        const std::vector<RowSlice> parts =
            decode_pull(encode_pull({}, bundle.num_row_slices(), bundle.push_slices())).row_slices;
        ASSERT_EQ(parts.size(), bundle.routed.size());
        for (size_t i = 0; i < parts.size(); ++i) {
          const RoutedRows& routed = bundle.routed[i];
          EXPECT_EQ(routed.in_sequence(), shards == 1);
          ASSERT_EQ(static_cast<size_t>(routed.rows), parts[i].keys.size());
          for (int64_t row = 0; row < routed.rows; ++row) {
            const size_t n = static_cast<size_t>(routed.position(row)), r = static_cast<size_t>(row);
            ++seen[n];
            ASSERT_EQ(parts[i].keys[r], keys[n]);
            ASSERT_EQ(parts[i].counts[r], counts[n]);
          }
        }
      }
    }
    EXPECT_EQ(std::ranges::count(seen, 1), std::ssize(keys));
  }
}

}  // namespace
}  // namespace ps::batch_router_test
