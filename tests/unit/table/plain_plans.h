// Plans of keys for the tests of tables.
#ifndef PS_TESTS_UNIT_TABLE_PLAIN_PLANS_H_
#define PS_TESTS_UNIT_TABLE_PLAIN_PLANS_H_

#include <cstdint>
#include <vector>

#include "math/key_plan.h"

namespace ps {

// The plan of one example with these keys, which may repeat.
inline KeyPlan plan_of(const std::vector<uint64_t>& keys) {
  KeyPlanner planner;
  const std::vector<uint32_t> offsets = {0, static_cast<uint32_t>(keys.size())};
  const KeyList list{offsets, keys};
  KeyPlan plan;
  planner.plan({&list, 1}, plan);
  return plan;
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_TABLE_PLAIN_PLANS_H_
