// What the emulator tells a sanitizer: where it switches stacks, which accesses are ordered, which memory may
// not be touched.  Used by the emulator alone.  The build picks one of hooks_plain.cc, hooks_address.cc and
// hooks_thread.cc (share/cmake/Gpu.cmake).
//
// The thread sanitizer would take all fibres of one thread of the system for ordered.  Each fibre is a thread
// of its own to it, switches order nothing, and the scheduler says what is ordered: release_as and acquire_as
// speak for a fibre that does not run.
#ifndef PS_GPU_EMULATED_HOOKS_H_
#define PS_GPU_EMULATED_HOOKS_H_

#include <cstddef>

namespace ps::gpu::emulated {

// A stack to switch from and to: a fibre's, or the one that the scheduler was called on.
struct StackArea {
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* fiber = nullptr;       // the thread sanitizer's name of it
  void* fake_stack = nullptr;  // the address sanitizer's, while it does not run
};

namespace hooks {

// "", "address" or "thread".
const char* sanitizer();

// Names a new fibre, or the stack that this is called on; takes the name back.
void create_fiber(StackArea& stack);
void name_current(StackArea& stack);
void destroy_fiber(StackArea& stack);

// A stack whose frames were left without returning from them.
void forget_frames(const StackArea& stack);

// Right before a switch and right after it; `arrive` learns where the stack that it came from lies.
void leave(StackArea& from, const StackArea& to);
void arrive(StackArea& self, StackArea& from);

// All that `fiber` did so far happens before what another does after an acquire of the same address.  `self`
// is the stack that this is called on.
void release_as(const StackArea& fiber, const StackArea& self, void* address);
void acquire_as(const StackArea& fiber, const StackArea& self, void* address);

// Frees memory in the name of `fiber`.
void free_as(const StackArea& fiber, const StackArea& self, void* memory);

// Memory that may not be touched, until it is opened again.  True where touching it is then an error.
bool close_memory(const void* memory, size_t bytes);
void open_memory(const void* memory, size_t bytes);

}  // namespace hooks

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_HOOKS_H_
