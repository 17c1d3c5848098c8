// KeyPlan: which rows of one table a batch needs, each key looked up once.  Made ahead, on the reader's side;
// taken by the store (pull and push), by layers (forward and backward).
#ifndef PS_MATH_KEY_PLAN_H_
#define PS_MATH_KEY_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

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
uint32_t key_partition(uint64_t key, int bits);

// Makes plans.  Keeps its scratch memory from one to the next; one thread at a time.
class KeyPlanner {
 public:
  explicit KeyPlanner(int partition_bits) : partition_bits_(partition_bits) {}

  // The plan of some lists over the same table.  `transpose` false leaves the transposed part of the uses
  // empty (tests and predictions need none).  `lists` must outlive `plan`, which refers to their offsets.
  void plan(std::span<const KeyList> lists, bool transpose, KeyPlan& plan);

 private:
  uint32_t find_or_add(uint64_t key, std::vector<uint64_t>& keys);
  void grow_index(const std::vector<uint64_t>& keys);
  void order_by_partition(KeyPlan& plan);
  void transpose(KeyUse& use, size_t num_keys);

  struct Slot {
    uint64_t key;
    uint32_t position;
    uint32_t generation;  // the slot is empty unless this is the planner's
  };
  const int partition_bits_;
  std::vector<Slot> index_;  // open addressing, a power of two, at most half full
  uint32_t generation_ = 0;
  std::vector<uint32_t> order_, counts_;
  std::vector<uint64_t> sorted_;
};

}  // namespace ps

#endif  // PS_MATH_KEY_PLAN_H_
