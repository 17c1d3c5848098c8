#include <sanitizer/asan_interface.h>

#include <cstdlib>

#include "gpu/emulated/hooks.h"

namespace ps::gpu::emulated::hooks {

const char* sanitizer() {
  return "address";
}

void release_as(const StackArea&, const StackArea&, void*) {}
void acquire_as(const StackArea&, const StackArea&, void*) {}

void free_as(const StackArea&, const StackArea&, void* memory) {
  std::free(memory);
}

bool close_memory(const void* memory, size_t bytes) {
  __asan_poison_memory_region(memory, bytes);
  return true;
}

void open_memory(const void* memory, size_t bytes) {
  __asan_unpoison_memory_region(memory, bytes);
}

}  // namespace ps::gpu::emulated::hooks
