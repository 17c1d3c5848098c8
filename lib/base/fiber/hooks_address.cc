#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "base/fiber/hooks.h"

namespace ps::fiber_hooks {

void create_fiber(StackArea&) {}
void name_current(StackArea&) {}
void destroy_fiber(StackArea&) {}

void forget_frames(const StackArea& stack) {
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
}

void leave(StackArea& from, const StackArea& to, SwitchOrder) {
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
}

void leave_for_good(const StackArea& to, SwitchOrder) {
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);
}

void arrive(StackArea& self, StackArea& from) {
  __sanitizer_finish_switch_fiber(self.fake_stack, &from.bottom, &from.bytes);
}

}  // namespace ps::fiber_hooks
