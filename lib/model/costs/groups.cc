#include "model/costs/groups.h"

#include <algorithm>
#include <numeric>

namespace ps {

// Sorts the positions of the examples by group, stably, so that the examples of a group keep their order;
// then begins[p] and ends[p] become, for every position p of the order, the range of its group.  Examples
// of one group need not come together in a batch.
Groups find_groups(const Batch& batch) {
  size_t count = batch.labels.size();
  auto group = [&](size_t example) { return batch.groups.empty() ? 0 : batch.groups[example]; };
  Groups out;
  out.order.resize(count);
  std::iota(out.order.begin(), out.order.end(), size_t{0});
  std::stable_sort(out.order.begin(), out.order.end(),
                   [&](size_t a, size_t b) { return group(a) < group(b); });
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && group(out.order[end]) == group(out.order[begin])) ++end;
    out.begins.resize(end, begin);
    out.ends.resize(end, end);
  }
  return out;
}

}  // namespace ps
