// PlanCache: the key plans of a pass, kept for the passes after it that have the same batches.  Used by
// ReaderSource and PrepareAhead.
#ifndef PS_FEED_PLAN_CACHE_H_
#define PS_FEED_PLAN_CACHE_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "math/key_plan.h"

namespace ps {

// Finding the unique keys of its batches was a third of what logistic regression does in a pass over data in
// memory.  Plans are moved out and in, never copied.  Any thread.
class PlanCache {
 public:
  // From now on keeps plans of at most `bytes` bytes.  With 0 it drops all plans.
  void set_limit(uint64_t bytes);

  // Moves the plans that are kept for a batch of the pass into `plans`.  Returns false if there are none.
  bool take(int64_t batch, std::vector<KeyPlan>& plans);

  // Moves the plans of a batch out of `plans` and keeps them.  Leaves `plans` as they are if they do not fit the
  // limit.
  void give(int64_t batch, std::vector<KeyPlan>& plans);

  uint64_t memory_bytes() const;

 private:
  mutable std::mutex mutex_;  // guards all members below
  uint64_t limit_ = 0, bytes_ = 0;
  std::vector<std::vector<KeyPlan>> plans_;  // by batch
};

}  // namespace ps

#endif  // PS_FEED_PLAN_CACHE_H_
