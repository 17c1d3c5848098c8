// KeyAdmission: decides which keys without a row get one.  Used by RowPolicyState, for policies with
// admission.
#ifndef PS_TABLE_KEY_ADMISSION_H_
#define PS_TABLE_KEY_ADMISSION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "math/key_plan.h"
#include "optim/row_policy.h"
#include "table/counted_keys.h"

namespace ps {

// Its decisions depend on the seed, and on the keys and steps of each partition.  They depend neither on the
// order of keys within a step nor on how partitions are spread over shards.  One thread at a time.
class KeyAdmission {
 public:
  // `seed` depends on the job and the table.
  KeyAdmission(const Admission& rule, uint64_t seed);

  // Counts occurrences of a key without a row in step number `step`.  When the key is admitted, returns all
  // its occurrences so far, and forgets them; else returns nullopt.
  std::optional<KeyCount> occur(uint64_t key, const KeyCount& count, int64_t step);

  // To be called after the last key of a step.  Forgets rare keys when too many are counted.
  void end_step();

  // Save the counts to a checkpoint, and load them from one: load adds the counts of partitions for which
  // `mine` returns true.
  void save(std::string& out) const;
  void load(ByteReader& in, const std::function<bool(uint32_t partition)>& mine);

  uint64_t waiting() const;  // number of keys that are counted
  uint64_t memory_bytes() const;

 private:
  bool draw(uint64_t key, uint32_t shows, int64_t step) const;

  const Admission rule_;
  const uint64_t seed_;
  std::vector<CountedKeys> counted_;  // by partition
};

}  // namespace ps

#endif  // PS_TABLE_KEY_ADMISSION_H_
