// The groups (queries, users) of a batch.  Used by costs that compare the examples of a group.
#ifndef PS_MODEL_COSTS_GROUPS_H_
#define PS_MODEL_COSTS_GROUPS_H_

#include <cstddef>
#include <vector>

#include "data/batch.h"
#include "math/items/ranking_items.h"

namespace ps {

// The examples of a batch sorted by group, within each group in the order of the batch.  Examples of a group need not
// lie together; a batch without groups is one group.
struct Groups {
  std::vector<size_t> order;         // [B], examples
  std::vector<size_t> begins, ends;  // [B], by position in `order`: the group's positions are [begin, end)

  RankingGroups view() const { return {order.data(), begins.data(), ends.data()}; }
};

Groups find_groups(const Batch& batch);

}  // namespace ps

#endif  // PS_MODEL_COSTS_GROUPS_H_
