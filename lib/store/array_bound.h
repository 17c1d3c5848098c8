// Decides which tables find their rows through an array.  Used by ParameterTables.
#ifndef PS_STORE_ARRAY_BOUND_H_
#define PS_STORE_ARRAY_BOUND_H_

#include <cstdint>

#include "store/parameter_store.h"

namespace ps {

// Returns the `bound` of SparseTable for a parameter whose optimizer has `state_arrays`.  It is the number of
// rows if rows are narrow, so that look-ups are most of the work, and if the table's array fits into the
// remaining `budget` bytes, from which it is then subtracted; otherwise 0.
uint64_t array_bound(const ParameterSpec& spec, int state_arrays, uint64_t& budget);

}  // namespace ps

#endif  // PS_STORE_ARRAY_BOUND_H_
