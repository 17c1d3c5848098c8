// Sorting of keys: models are written by ascending key.
#ifndef PS_TABLE_SORT_KEYS_H_
#define PS_TABLE_SORT_KEYS_H_

#include <cstdint>
#include <vector>

namespace ps {

// Ascending.  Takes as much memory again while it works.
void sort_keys(std::vector<uint64_t>& keys);

}  // namespace ps

#endif  // PS_TABLE_SORT_KEYS_H_
