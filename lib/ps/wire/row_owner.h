// The trainer that trains a row of servers on its device, where several trainers do so: each row has one owner.  Used
// by OwnedRows, and by shards, which take rows back from their owners alone.
#ifndef PS_PS_WIRE_ROW_OWNER_H_
#define PS_PS_WIRE_ROW_OWNER_H_

#include <cstdint>

#include "base/hash.h"

namespace ps {

// Returns the rank of the owner.  Part of the protocol: never change it.  Both halves of the hash of a key choose its
// place on a device or among devices, so that the owner is chosen by another hash; the rows of each owner then spread
// as evenly as all rows do.
constexpr int row_owner(uint64_t key, int trainers) {
  return static_cast<int>((hash_key(~hash_key(key)) >> 32) * static_cast<uint64_t>(trainers) >> 32);
}

}  // namespace ps

#endif  // PS_PS_WIRE_ROW_OWNER_H_
