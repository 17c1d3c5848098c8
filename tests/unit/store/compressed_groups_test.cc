// Neighbours share an exchange until they have enough bytes, and there are few exchanges; or all share one.
#include "store/compressed_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/random.h"
#include "collective/fused.h"

namespace ps::compressed_groups_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CompressedGroups, BeginWithTheLastAndHaveEnoughBytes) {
  constexpr size_t kHalf = kFusedBytes / 2;
  const std::vector<size_t> bytes = {1, kHalf, kFusedBytes, kHalf, kHalf};
  EXPECT_THAT(compressed_groups(bytes, CompressedGroups::kSeveral), ElementsAre(2, 1, 2));
  EXPECT_THAT(compressed_groups(bytes, CompressedGroups::kOne), ElementsAre(5));
  EXPECT_THAT(compressed_groups(std::vector<size_t>{7}, CompressedGroups::kSeveral), ElementsAre(1));
  EXPECT_THAT(compressed_groups({}, CompressedGroups::kSeveral), IsEmpty());
  EXPECT_THAT(compressed_groups({}, CompressedGroups::kOne), IsEmpty());
}

// A message has an end.
TEST(CompressedGroups, HaveNoMoreBytesThanAMessageMayTake) {
  constexpr size_t kThird = kMostGroupBytes / 3;
  std::vector<size_t> bytes(30, kThird);
  bytes[10] = 5 * kMostGroupBytes;  // alone, since it cannot be divided
  for (const CompressedGroups groups : {CompressedGroups::kOne, CompressedGroups::kSeveral}) {
    size_t end = bytes.size();
    for (const size_t count : compressed_groups(bytes, groups)) {
      const auto group = std::span(bytes).subspan(end - count, count);
      end -= count;
      if (count > 1) {
        EXPECT_LE(std::accumulate(group.begin(), group.end(), size_t{0}), kMostGroupBytes);
      }
    }
    EXPECT_EQ(end, 0u);
  }
  EXPECT_THAT(compressed_groups(std::vector<size_t>(6, kThird), CompressedGroups::kOne), ElementsAre(3, 3));
}

TEST(CompressedGroups, AreAtMostEightAndHaveAll) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, 1);
    std::vector<size_t> bytes(1 + random.below(60));
    for (size_t& each : bytes) each = random.below(4 * kFusedBytes);
    const std::vector<size_t> groups = compressed_groups(bytes, CompressedGroups::kSeveral);
    EXPECT_LE(groups.size(), 8u) << "seed " << seed;
    EXPECT_EQ(std::accumulate(groups.begin(), groups.end(), size_t{0}), bytes.size()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ps::compressed_groups_test
