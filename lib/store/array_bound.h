// Which tables reach their rows through an array.  Used by LocalStore and ShardTables.
#ifndef PS_STORE_ARRAY_BOUND_H_
#define PS_STORE_ARRAY_BOUND_H_

#include <cstdint>

#include "store/parameter_store.h"

namespace ps {

// The `bound` of SparseTable for a parameter whose optimizer keeps `state_arrays`: its number of rows where
// these are narrow, so that looking them up is most of the work, and the arrays of all tables stay within
// `budget` bytes, of which this one's are taken; else 0.
uint64_t array_bound(const ParameterSpec& spec, int state_arrays, uint64_t& budget);

}  // namespace ps

#endif  // PS_STORE_ARRAY_BOUND_H_
