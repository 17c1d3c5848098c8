// Hooks through which the emulator informs a sanitizer of the order of accesses, and of memory that may not be
// touched.  Used by the emulator alone.  The build picks one of hooks_plain.cc, hooks_address.cc and
// hooks_thread.cc (share/cmake/Gpu.cmake).
//
// The thread sanitizer would treat all accesses of one thread of the process as ordered.  Therefore each
// fibre is registered with it as a thread of its own, and switches between fibres order nothing.  The
// scheduler declares the order: release_as and acquire_as act on behalf of a fibre that does not run.
#ifndef PS_GPU_EMULATED_HOOKS_H_
#define PS_GPU_EMULATED_HOOKS_H_

#include <cstddef>

#include "base/fiber/hooks.h"

namespace ps::gpu::emulated {

namespace hooks {

// "", "address" or "thread".
const char* sanitizer();

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
