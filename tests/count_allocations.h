// Counts the allocations of a test binary, and has one fail: link with it, and every operator new of the program is counted.
#ifndef PS_TESTS_COUNT_ALLOCATIONS_H_
#define PS_TESTS_COUNT_ALLOCATIONS_H_

#include <cstdint>

namespace ps {

// Allocations of all threads since the program began.
int64_t count_allocations();

// The nth allocation from now on throws std::bad_alloc; 0: none does.
void fail_allocation(int64_t nth);

}  // namespace ps

#endif  // PS_TESTS_COUNT_ALLOCATIONS_H_
