// CountedKeys: counts the occurrences of keys that have no row yet.  Used by KeyAdmission, which has one for
// each partition.
//
// Counts are exact up to a bound of keys.  Beyond it all counts are halved, and keys whose count reaches 0
// are forgotten, until the bound holds: rare keys are forgotten first.
#ifndef PS_TABLE_COUNTED_KEYS_H_
#define PS_TABLE_COUNTED_KEYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "math/key_plan.h"

namespace ps {

// One thread at a time.  A slot takes 12 bytes; at most 3/4 of the slots are in use.
class CountedKeys {
 public:
  static constexpr uint32_t kMost = UINT16_MAX;  // counts stop there

  // Adds to a key's counts, and returns them.
  KeyCount add(uint64_t key, const KeyCount& count);

  void remove(uint64_t key);  // which must be there

  // Halves all counts until at most this many keys remain.  Which keys remain does not depend on the order in
  // which they were added.
  void halve_to(uint64_t most);

  // save appends the keys with their counts, in ascending order. load adds keys and counts that save has
  // appended; it throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  uint64_t size() const { return size_; }
  uint64_t memory_bytes() const {
    return keys_.capacity() * sizeof keys_[0] + counts_.capacity() * sizeof counts_[0];
  }

 private:
  struct Count {
    uint16_t shows, clicks;  // shows == 0: the slot is free
  };

  // Open addressing with linear probing: each key is in the slot of its hash, or behind it without a gap.
  // The low bits of the hash choose the slot; the high bits choose the partition.
  size_t home(uint64_t key) const { return hash_key(key) & (keys_.size() - 1); }
  size_t after(size_t slot) const { return (slot + 1) & (keys_.size() - 1); }
  size_t slot_of(uint64_t key) const;
  void resize(size_t slots);

  std::vector<uint64_t> keys_;  // a power of two, or empty
  std::vector<Count> counts_;
  uint64_t size_ = 0;
};

}  // namespace ps

#endif  // PS_TABLE_COUNTED_KEYS_H_
