// KeyPlan: which rows of one table a batch needs, each key looked up once.  Made ahead, on the reader's side;
// taken by the store (pull and push), by layers (forward and backward).
#ifndef PS_MATH_KEY_PLAN_H_
#define PS_MATH_KEY_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"

namespace ps {

// The ids that one layer looks up for B examples: example b has keys [offsets[b], offsets[b + 1]).
struct KeyList {
  std::span<const uint32_t> offsets;  // [B + 1]
  std::span<const uint64_t> keys;     // [K]
};

// A KeyList in terms of the plan's unique keys, and the same transposed.
struct KeyUse {
  std::span<const uint32_t> offsets;  // [B + 1], of the KeyList
  std::vector<uint32_t> index;        // [K], position of key k in KeyPlan::keys

  // Transposed: unique key touched[m] is at positions positions[starts[m] … starts[m + 1]) of the list, in
  // ascending order, in the examples of the same places in `examples`.
  std::vector<uint32_t> touched;    // [M], ascending
  std::vector<uint32_t> starts;     // [M + 1]
  std::vector<uint32_t> positions;  // [K]
  std::vector<uint32_t> examples;   // [K]
};

struct KeyPlan {
  std::vector<uint64_t> keys;              // [N], unique: by partition, then by first appearance in the batch
  std::vector<uint32_t> partition_starts;  // [P + 1]: partition p has keys [starts[p], starts[p + 1])
  std::vector<KeyUse> uses;                // one for each KeyList, in order
};

// Partition of a key among 2^bits: the high bits of its hash.
inline uint32_t key_partition(uint64_t key, int bits) {
  return static_cast<uint32_t>(hash_key(key) >> 1 >> (63 - bits));
}

// Makes plans.  Keeps its scratch memory from one to the next; one thread at a time.
//
// Ids are dealt out to their partitions first.  What is left to do for one partition, finding its unique keys
// and transposing, then stays in the first-level cache and comes out in the plan's order.
class KeyPlanner {
 public:
  explicit KeyPlanner(int partition_bits) : partition_bits_(partition_bits) {}

  // The plan of some lists over the same table.  `transpose` false leaves the transposed part of the uses
  // empty (tests and predictions need none).  `lists` must outlive `plan`, which refers to their offsets.
  void plan(std::span<const KeyList> lists, bool transpose, KeyPlan& plan);

 private:
  struct Id {
    uint64_t key;
    uint32_t position, example;  // in its list
  };

  // How far a use is transposed: keys and positions so far.
  struct Transposed {
    uint32_t touched = 0, positions = 0;
  };

  void deal(std::span<const KeyList> lists);
  void begin_uses(std::span<const KeyList> lists, bool transpose, KeyPlan& plan);
  void end_uses(KeyPlan& plan) const;
  void begin_partition(uint32_t num_ids, uint32_t num_keys);
  uint32_t find_keys(std::span<const Id> ids, uint32_t num_keys, KeyUse& use);
  void transpose(std::span<const Id> ids, uint32_t num_keys, KeyUse& use, Transposed& done);

  const int partition_bits_;

  // Of the running plan.  Ids lie by partition, ending at partition_ends_[p], then by list, those of list u
  // ending at list_ends_[u * P + p], then in the list's order.
  std::vector<Id> ids_;
  std::vector<uint16_t> partitions_;  // of the ids, in the lists' order
  std::vector<uint32_t> partition_ends_, list_ends_;
  std::vector<uint64_t> keys_;  // unique so far, and room for one of each id and one more
  std::vector<Transposed> transposed_;

  // Of the running partition.  Open addressing: a slot holds stamp_ + a key's position in keys_.  What other
  // partitions and plans left is less than stamp_ + first_key_ and counts as empty, so that nothing is ever
  // cleared.
  std::vector<uint32_t> slots_;
  uint32_t stamp_ = 1;
  uint32_t first_key_ = 0;
  size_t mask_ = 0;
  int shift_ = 0;
  std::vector<uint32_t> found_;   // of each id: its key, counted from first_key_
  std::vector<uint32_t> counts_;  // of each key: ids that hold it; then where the next one goes
};

}  // namespace ps

#endif  // PS_MATH_KEY_PLAN_H_
