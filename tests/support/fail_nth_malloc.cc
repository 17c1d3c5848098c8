// malloc and its relatives, which fail as fail_nth.cc says; else they are those of the address sanitizer or, where there is
// none, of the C library.
#include <cerrno>
#include <cstddef>

#include "support/fail_nth.h"

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
[[gnu::weak]] void* __interceptor_malloc(size_t size);
[[gnu::weak]] void* __interceptor_calloc(size_t count, size_t size);
[[gnu::weak]] void* __interceptor_realloc(void* old, size_t size);
[[gnu::weak]] void* __interceptor_memalign(size_t alignment, size_t size);
}

namespace {

bool has_none(size_t size) {
  if (!ps::failing::has_no_memory(size)) return false;
  errno = ENOMEM;
  return true;
}

template <class Function, class... Arguments>
void* call(Function* sanitizers, Function* library, Arguments... arguments) {
  return (sanitizers != nullptr ? sanitizers : library)(arguments...);
}

void* aligned(size_t alignment, size_t size) {
  return has_none(size) ? nullptr : call(&__interceptor_memalign, &__libc_memalign, alignment, size);
}

}  // namespace

extern "C" {

void* malloc(size_t size) {
  return has_none(size) ? nullptr : call(&__interceptor_malloc, &__libc_malloc, size);
}
void* calloc(size_t count, size_t size) {
  return has_none(count * size) ? nullptr : call(&__interceptor_calloc, &__libc_calloc, count, size);
}
void* realloc(void* old, size_t size) {
  return has_none(size) ? nullptr : call(&__interceptor_realloc, &__libc_realloc, old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return aligned(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const given = aligned(alignment, size);
  if (given == nullptr) return ENOMEM;
  *out = given;
  return 0;
}

}  // extern "C"
