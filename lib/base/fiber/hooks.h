// Hooks through which fibres inform a sanitizer of switches of stacks.  Used by Fiber and by the emulator of
// devices.  The build picks one of hooks_plain.cc, hooks_address.cc and hooks_thread.cc (share/cmake/Fiber.cmake).
#ifndef PS_BASE_FIBER_HOOKS_H_
#define PS_BASE_FIBER_HOOKS_H_

#include <cstddef>

namespace ps {

// A stack to switch from and to: the stack of a fibre, or the one on which it was resumed.
struct StackArea {
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* fiber = nullptr;       // its handle in the thread sanitizer
  void* fake_stack = nullptr;  // its handle in the address sanitizer, while it does not run
};

// For a race detector: if what one fibre did happens before what the next does, after a switch between them.
enum class SwitchOrder { kOrdered, kUnordered };

namespace fiber_hooks {

// Registers a new fibre, or the stack that this is called on; destroy_fiber unregisters a fibre.
void create_fiber(StackArea& stack);
void name_current(StackArea& stack);
void destroy_fiber(StackArea& stack);

// To be called for a stack whose frames were dropped without unwinding, to be used again or given back.
void forget_frames(const StackArea& stack);

// To be called right before a switch and right after it; leave_for_good by a fibre that never runs again.
// `arrive` learns the bounds of the stack that it came from.
void leave(StackArea& from, const StackArea& to, SwitchOrder order);
void leave_for_good(const StackArea& to, SwitchOrder order);
void arrive(StackArea& self, StackArea& from);

}  // namespace fiber_hooks

}  // namespace ps

#endif  // PS_BASE_FIBER_HOOKS_H_
