#include <sanitizer/tsan_interface.h>

#include "base/fiber/hooks.h"

namespace ps::fiber_hooks {

void create_fiber(StackArea& stack) {
  stack.fiber = __tsan_create_fiber(0);
}

void name_current(StackArea& stack) {
  stack.fiber = __tsan_get_current_fiber();
}

void destroy_fiber(StackArea& stack) {
  __tsan_destroy_fiber(stack.fiber);
  stack.fiber = nullptr;
}

void forget_frames(const StackArea&) {}

void leave_for_good(const StackArea& to, SwitchOrder order) {
  __tsan_switch_to_fiber(to.fiber, order == SwitchOrder::kOrdered ? 0 : __tsan_switch_to_fiber_no_sync);
}

void leave(StackArea&, const StackArea& to, SwitchOrder order) {
  leave_for_good(to, order);
}

void arrive(StackArea&, StackArea&) {}

}  // namespace ps::fiber_hooks
