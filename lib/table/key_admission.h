// KeyAdmission: which keys without a row get one.  Used by SparseTable, whose policy asks for it.
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

// Its decisions depend on the seed, and on each partition's keys and steps: not on the order of keys
// within a step, nor on who has which partitions.  One thread at a time.
class KeyAdmission {
 public:
  // `seed`: of the job and the table.
  KeyAdmission(const Admission& rule, uint64_t seed);

  // Takes note that a key without a row occurs in step number `step`.  Returns its occurrences so far when
  // they give it a row, and forgets them.
  std::optional<KeyCount> occur(uint64_t key, const KeyCount& count, int64_t step);

  // After the last key of a step: forgets keys when there are too many.
  void end_step();

  // The counts, to and from checkpoints: load adds those of the partitions that are `mine`.
  void save(std::string& out) const;
  void load(ByteReader& in, const std::function<bool(uint32_t partition)>& mine);

  uint64_t waiting() const;  // keys that are counted
  uint64_t memory_bytes() const;

 private:
  bool draw(uint64_t key, uint32_t shows, int64_t step) const;

  const Admission rule_;
  const uint64_t seed_;
  std::vector<CountedKeys> counted_;  // by partition
};

}  // namespace ps

#endif  // PS_TABLE_KEY_ADMISSION_H_
