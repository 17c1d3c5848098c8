// KeyPlan: the rows of one table that a batch needs, each key looked up once.  Made by the threads that
// prepare batches; used by the store (pull and push) and by layers (forward and backward).
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
  bool transposed = false;            // true: its KeyUse gets the transposed part
};

// A KeyList in terms of the plan's unique keys, and its transpose if the list asks for that.
struct KeyUse {
  std::span<const uint32_t> offsets;  // [B + 1], of the KeyList
  std::vector<uint32_t> index;        // [K], position of key k in KeyPlan::keys

  // The transpose: unique key touched[m] is at the positions positions[starts[m] … starts[m + 1]) of the
  // list, in ascending order, and examples[i] is the example of positions[i].
  std::vector<uint32_t> touched;    // [M], ascending
  std::vector<uint32_t> starts;     // [M + 1]
  std::vector<uint32_t> positions;  // [K]
  std::vector<uint32_t> examples;   // [K]

  bool transposed() const { return !starts.empty(); }
};

// How often a key occurs in the examples of a batch, and how often in those whose label is positive.
struct KeyCount {
  uint32_t shows = 0, clicks = 0;

  bool operator==(const KeyCount&) const = default;
};

// The order of a plan's keys.  The order of their first use takes no work.  Ascending keys take the fewest
// bytes over a network, and ranges that are contiguous on both sides can be copied as they are.
enum class KeyOrder { kFirstAppearance, kAscending };

struct KeyPlan {
  std::vector<uint64_t> keys;    // [N], unique
  std::vector<KeyUse> uses;      // one for each KeyList, in order
  std::vector<KeyCount> counts;  // [N], or empty if nothing asks for counts
};

// plan.counts <- how often the keys occur.
//   labels [B], of the examples that the lists of the plan belong to
void count_keys(std::span<const float> labels, KeyPlan& plan);

// Makes plans.  Reuses its scratch memory from one plan to the next; one thread at a time.
class KeyPlanner {
 public:
  explicit KeyPlanner(KeyOrder order = KeyOrder::kFirstAppearance) : order_(order) {}

  // Makes the plan of lists over the same table.  `plan` refers to the offsets of the lists, which must
  // outlive it.
  void plan(std::span<const KeyList> lists, KeyPlan& plan);

  // The same, given the plan of the same lists over another table, whose uses may have no transposed part.
  void plan_like(const KeyPlan& other, std::span<const KeyList> lists, KeyPlan& plan);

  // Completes a plan of these lists that another process has made: `plan` has its keys and the index of each
  // use.  Throws kData unless each key occurs once, and the indices give exactly the ids of the lists.
  void complete(std::span<const KeyList> lists, KeyPlan& plan);

 private:
  void begin_table(size_t num_ids);
  uint32_t number_keys(std::span<const uint64_t> ids, uint32_t num_keys, uint32_t* index);
  void sort_keys(KeyPlan& plan);
  void check_unique(const std::vector<uint64_t>& keys);
  template <class Entry, class Coding>
  void rank_keys(std::vector<Entry>& entries, const Coding& coding, std::vector<uint64_t>& keys);
  void transpose(uint32_t num_keys, KeyUse& use);

  const KeyOrder order_;
  std::vector<uint64_t> keys_;    // unique so far, with room for every id and one more
  std::vector<uint32_t> counts_;  // of each key: number of its ids; then the position of the next

  // The hash table: a slot has stamp_ + a key's position in keys_.  Slots of earlier plans are below stamp_
  // and count as empty, so that the table is never cleared.
  std::vector<uint32_t> slots_;
  uint32_t stamp_ = 1;
  size_t mask_ = 0;
  int shift_ = 0;

  // For sorting: the position of each key after it, and the entries in one of the two encodings.
  struct NumberedKey {
    uint64_t key;
    uint32_t number;
  };
  std::vector<uint32_t> ranks_;
  std::vector<uint64_t> packed_;
  std::vector<NumberedKey> numbered_;
};

}  // namespace ps

#endif  // PS_MATH_KEY_PLAN_H_
