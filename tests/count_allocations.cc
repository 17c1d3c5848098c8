#include "count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> allocations{0};
static std::atomic<int64_t> to_fail{0};

// Replacing these is how a program watches its own allocations ([replacement.functions]); the other forms
// call them.
void* operator new(std::size_t size) {
  if (++allocations == to_fail) throw std::bad_alloc();
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace ps {

int64_t count_allocations() {
  return allocations;
}

void fail_allocation(int64_t nth) {
  to_fail = nth == 0 ? 0 : allocations + nth;
}

}  // namespace ps
