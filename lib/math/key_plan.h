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
  bool transposed = false;            // wanted of its KeyUse
};

// A KeyList in terms of the plan's unique keys, and the same transposed, when that is wanted.
struct KeyUse {
  std::span<const uint32_t> offsets;  // [B + 1], of the KeyList
  std::vector<uint32_t> index;        // [K], position of key k in KeyPlan::keys

  // Transposed: unique key touched[m] is at positions positions[starts[m] … starts[m + 1]) of the list, in
  // ascending order, in the examples of the same places in `examples`.
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

// In which order a plan has its keys.  The first takes no work; over a network ascending keys take the fewest
// bytes, and rows that lie behind each other at both ends need not be copied into another order.
enum class KeyOrder { kFirstAppearance, kAscending };

struct KeyPlan {
  std::vector<uint64_t> keys;    // [N], unique
  std::vector<KeyUse> uses;      // one for each KeyList, in order
  std::vector<KeyCount> counts;  // [N], or empty: nobody asked for them
};

// plan.counts <- how often the keys occur.
//   labels [B], of the examples that the lists of the plan belong to
void count_keys(std::span<const float> labels, KeyPlan& plan);

// Makes plans.  Keeps its scratch memory from one to the next; one thread at a time.
class KeyPlanner {
 public:
  explicit KeyPlanner(KeyOrder order = KeyOrder::kFirstAppearance) : order_(order) {}

  // The plan of some lists over the same table, which must outlive `plan`: it refers to their offsets.
  void plan(std::span<const KeyList> lists, KeyPlan& plan);

  // The same, given the plan of the same lists over another table, be they transposed there or not.
  void plan_like(const KeyPlan& other, std::span<const KeyList> lists, KeyPlan& plan);

  // Completes a plan of these lists that another process has made: `plan` has its keys and the index of each
  // use.  Throws kData unless each key is there once, and the indices give exactly the ids of the lists.
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
  std::vector<uint64_t> keys_;    // unique so far, and room for one of each id and one more
  std::vector<uint32_t> counts_;  // of each key: ids that hold it; then where the next one goes

  // Open addressing: a slot holds stamp_ + a key's position in keys_.  What earlier plans left is less than
  // stamp_ and counts as empty, so that nothing is ever cleared.
  std::vector<uint32_t> slots_;
  uint32_t stamp_ = 1;
  size_t mask_ = 0;
  int shift_ = 0;

  // Of keys that are sorted: where each goes, and those of one of the two.
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
