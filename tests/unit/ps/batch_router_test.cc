#include "ps/batch_router.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ps {
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
    bytes[shard] += bundle.parts.size();
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
      bytes[shard] -= bundles[b].parts.size();
    }
    EXPECT_EQ(bytes[shard], 0u) << "nothing was added to a bundle that was ready";
  }
}

}  // namespace
}  // namespace ps
