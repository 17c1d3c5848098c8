// CountedKeys: how often keys have occurred that have no row yet.  Used by KeyAdmission, one a partition.
//
// Exact, up to a bound of keys; beyond it all counts are halved, and those at 0 forgotten, until the bound
// holds: keys that occur often stay, those that came once go first.
#ifndef PS_TABLE_COUNTED_KEYS_H_
#define PS_TABLE_COUNTED_KEYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "math/key_plan.h"

namespace ps {

// One thread at a time.  12 bytes a place, of which at most 3/4 are taken.
class CountedKeys {
 public:
  static constexpr uint32_t kMost = UINT16_MAX;  // counts stop there

  // Adds to a key's counts, and returns them.
  KeyCount add(uint64_t key, const KeyCount& count);

  void remove(uint64_t key);  // which must be there

  // Makes the keys at most this many.  The keys that are left do not depend on the order in which they came.
  void halve_to(uint64_t most);

  // Appends the keys with their counts, ascending; adds what save appended, or throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  uint64_t size() const { return size_; }
  uint64_t memory_bytes() const {
    return keys_.capacity() * sizeof keys_[0] + counts_.capacity() * sizeof counts_[0];
  }

 private:
  struct Count {
    uint16_t shows, clicks;  // no shows: the place is free
  };

  // Open addressing, each key at its hash's place or behind it without a gap.  The low bits choose the
  // place; the high ones are the partition's.
  size_t home(uint64_t key) const { return hash_key(key) & (keys_.size() - 1); }
  size_t after(size_t place) const { return (place + 1) & (keys_.size() - 1); }
  size_t place_of(uint64_t key) const;
  void resize(size_t places);

  std::vector<uint64_t> keys_;  // a power of two, or empty
  std::vector<Count> counts_;
  uint64_t size_ = 0;
};

}  // namespace ps

#endif  // PS_TABLE_COUNTED_KEYS_H_
