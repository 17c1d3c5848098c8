#include "store/compressed_groups.h"

#include <algorithm>
#include <numeric>

#include "collective/fused.h"

namespace ps {

// A group has at least kFusedBytes of gradients, and a part of all of them that leaves few groups, since each costs the
// latency of an exchange; that of the first layers has what is left.  All that a rank has of a group may be one message,
// so that one of several gradients has kMostGroupBytes at most; a codec may double the bytes of what it selects.
std::vector<size_t> compressed_groups(std::span<const size_t> bytes, CompressedGroups groups) {
  constexpr size_t kMostGroups = 8;
  const size_t all = std::accumulate(bytes.begin(), bytes.end(), size_t{0});
  const size_t enough = groups == CompressedGroups::kOne
                            ? kMostGroupBytes
                            : std::max(kFusedBytes, (all + kMostGroups - 1) / kMostGroups);
  std::vector<size_t> counts;
  size_t in_group = 0;
  for (size_t n = bytes.size(); n-- > 0;) {
    if (counts.empty() || in_group >= enough || in_group + bytes[n] > kMostGroupBytes)
      counts.push_back(0), in_group = 0;
    ++counts.back();
    in_group += bytes[n];
  }
  return counts;
}

}  // namespace ps
