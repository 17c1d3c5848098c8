// How much memory this process may take, and has taken.  Used before large allocations, and in reports.
#ifndef PS_BASE_MEMORY_H_
#define PS_BASE_MEMORY_H_

#include <cstdint>

namespace ps {

// Bytes that can still be allocated without swapping: the system's estimate, bounded by the limits of the
// control group and of the address space (ulimit -v).  UINT64_MAX when nothing can be read.
uint64_t available_memory_bytes();

// The resident size.
uint64_t resident_memory_bytes();

// The largest resident size so far.
uint64_t peak_memory_bytes();

}  // namespace ps

#endif  // PS_BASE_MEMORY_H_
