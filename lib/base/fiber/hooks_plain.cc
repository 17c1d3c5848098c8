#include "base/fiber/hooks.h"

namespace ps::fiber_hooks {

void create_fiber(StackArea&) {}
void name_current(StackArea&) {}
void destroy_fiber(StackArea&) {}
void forget_frames(const StackArea&) {}
void leave(StackArea&, const StackArea&, SwitchOrder) {}
void leave_for_good(const StackArea&, SwitchOrder) {}
void arrive(StackArea&, StackArea&) {}

}  // namespace ps::fiber_hooks
