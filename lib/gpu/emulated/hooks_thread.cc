#include <sanitizer/tsan_interface.h>

#include <cstdlib>

#include "gpu/emulated/hooks.h"

namespace ps::gpu::emulated::hooks {

namespace {

constexpr unsigned kOrdersNothing = 1;

// During its lifetime, the sanitizer attributes accesses to the fibre.
class InTheNameOf {
 public:
  // Switching to the fibre must not order its actions with those of the scheduler by itself: only releases
  // and acquires do.
  InTheNameOf(const StackArea& fiber, const StackArea& self) : self_(self.fiber) {
    __tsan_switch_to_fiber(fiber.fiber, kOrdersNothing);
  }
  ~InTheNameOf() { __tsan_switch_to_fiber(self_, kOrdersNothing); }
  InTheNameOf(const InTheNameOf&) = delete;
  InTheNameOf& operator=(const InTheNameOf&) = delete;

 private:
  void* self_;
};

}  // namespace

const char* sanitizer() {
  return "thread";
}

void release_as(const StackArea& fiber, const StackArea& self, void* address) {
  InTheNameOf scope(fiber, self);
  __tsan_release(address);
}

void acquire_as(const StackArea& fiber, const StackArea& self, void* address) {
  InTheNameOf scope(fiber, self);
  __tsan_acquire(address);
}

void free_as(const StackArea& fiber, const StackArea& self, void* memory) {
  InTheNameOf scope(fiber, self);
  std::free(memory);
}

bool close_memory(const void*, size_t) {
  return false;
}
void open_memory(const void*, size_t) {}

}  // namespace ps::gpu::emulated::hooks
