#include <cstdlib>

#include "gpu/emulated/hooks.h"

namespace ps::gpu::emulated::hooks {

const char* sanitizer() {
  return "";
}

void release_as(const StackArea&, const StackArea&, void*) {}
void acquire_as(const StackArea&, const StackArea&, void*) {}

void free_as(const StackArea&, const StackArea&, void* memory) {
  std::free(memory);
}

bool close_memory(const void*, size_t) {
  return false;
}
void open_memory(const void*, size_t) {}

}  // namespace ps::gpu::emulated::hooks
