// Hooks through which the emulator informs a sanitizer of switches of stacks, of the order of accesses, and
// of memory that may not be touched.  Used by the emulator alone.  The build picks one of hooks_plain.cc,
// hooks_address.cc and hooks_thread.cc (share/cmake/Gpu.cmake).
//
// The thread sanitizer would treat all accesses of one thread of the process as ordered.  Therefore each
// fibre is registered with it as a thread of its own, and switches between fibres order nothing.  The
// scheduler declares the order: release_as and acquire_as act on behalf of a fibre that does not run.
#ifndef PS_GPU_EMULATED_HOOKS_H_
#define PS_GPU_EMULATED_HOOKS_H_

#include <cstddef>

namespace ps::gpu::emulated {

// A stack to switch from and to: the stack of a fibre, or the one on which the scheduler was called.
struct StackArea {
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* fiber = nullptr;       // its handle in the thread sanitizer
  void* fake_stack = nullptr;  // its handle in the address sanitizer, while it does not run
};

namespace hooks {

// "", "address" or "thread".
const char* sanitizer();

// Registers a new fibre, or the stack that this is called on; destroy_fiber unregisters it.
void create_fiber(StackArea& stack);
void name_current(StackArea& stack);
void destroy_fiber(StackArea& stack);

// To be called for a stack whose frames were dropped without unwinding, to be used again or given back.
void forget_frames(const StackArea& stack);

// To be called right before a switch and right after it.  `arrive` learns the bounds of the stack that it
// came from.
void leave(StackArea& from, const StackArea& to);
void arrive(StackArea& self, StackArea& from);

// All actions of `fiber` so far happen before the actions of any fibre after its acquire of the same address.
// `self` is the stack that this is called on.
void release_as(const StackArea& fiber, const StackArea& self, void* address);
void acquire_as(const StackArea& fiber, const StackArea& self, void* address);

// Frees memory on behalf of `fiber`.
void free_as(const StackArea& fiber, const StackArea& self, void* memory);

// Forbids touching memory until it is opened again.  Returns true if the sanitizer reports accesses to it.
bool close_memory(const void* memory, size_t bytes);
void open_memory(const void* memory, size_t bytes);

}  // namespace hooks

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_HOOKS_H_
