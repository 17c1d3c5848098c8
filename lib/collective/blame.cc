#include "collective/blame.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace ps {

// Breadth-first search over the ranks that are waited for.  Silent ranks are to blame first, then ranks that
// are in no collective.  If all ranks wait, those that this rank waits for send nothing.
Blame find_blame(int rank, std::span<const int> awaited, const WaitsFor& waits_for) {
  std::vector<int> queue(awaited.begin(), awaited.end());
  std::set<int> seen(queue.begin(), queue.end());
  std::set<int> silent, idle;
  seen.insert(rank);
  for (size_t i = 0; i < queue.size(); ++i) {
    const std::optional<std::vector<int>> waits = waits_for(queue[i]);
    if (!waits) silent.insert(queue[i]);
    if (!waits) continue;
    if (waits->empty()) idle.insert(queue[i]);
    for (int next : *waits) {
      if (seen.insert(next).second) queue.push_back(next);
    }
  }
  if (!silent.empty()) return {{silent.begin(), silent.end()}, "silent"};
  if (!idle.empty()) return {{idle.begin(), idle.end()}, "not taking part", /*busy=*/true};
  std::vector<int> all(awaited.begin(), awaited.end());
  std::ranges::sort(all);
  return {all, "sending nothing"};
}

std::string ranks_text(std::span<const int> ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) out += i + 1 == ranks.size() ? " and " : ", ";
    out += cat(ranks[i]);
  }
  return out;
}

}  // namespace ps
