#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include <cstdlib>

#include "gpu/emulated/hooks.h"

namespace ps::gpu::emulated::hooks {

const char* sanitizer() {
  return "address";
}

void create_fiber(StackArea&) {}
void name_current(StackArea&) {}
void destroy_fiber(StackArea&) {}

void forget_frames(const StackArea& stack) {
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
}

void leave(StackArea& from, const StackArea& to) {
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
}

void arrive(StackArea& self, StackArea& from) {
  __sanitizer_finish_switch_fiber(self.fake_stack, &from.bottom, &from.bytes);
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
