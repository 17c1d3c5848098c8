#include "base/fiber/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"

namespace ps {

namespace {

namespace context = boost::context::detail;

size_t page_bytes() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Maps memory for a stack above a guard page, which faults when the stack overflows into it.
void* map_stack(size_t stack_bytes) {
  void* memory = mmap(nullptr, page_bytes() + stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail_errno(Code::kExhausted, "cannot map the stack of", "a fibre", errno);
  if (mprotect(memory, page_bytes(), PROT_NONE) != 0) {
    const int error = errno;
    munmap(memory, page_bytes() + stack_bytes);
    fail_errno(Code::kExhausted, "cannot guard the stack of", "a fibre", error);
  }
  return memory;
}

}  // namespace

// noexcept makes an exception that leaves a body end the program.
struct Fiber::Start {
  static void start(context::transfer_t first) noexcept { static_cast<Fiber*>(first.data)->run(first.fctx); }
};

Fiber::Fiber(size_t stack_bytes, SwitchOrder order, std::function<void()> body)
    : order_(order), body_(std::move(body)), memory_(map_stack(stack_bytes)) {
  stack_.bottom = static_cast<char*>(memory_) + page_bytes();
  stack_.bytes = stack_bytes;
  make_context();
}

Fiber::~Fiber() {
  fiber_hooks::destroy_fiber(stack_);
  fiber_hooks::forget_frames(stack_);  // others may map this memory
  munmap(memory_, page_bytes() + stack_.bytes);
}

// Stacks grow downwards, so the context begins at the top of the mapping, and the guard page is at its
// bottom.
void Fiber::make_context() {
  fiber_hooks::create_fiber(stack_);
  char* top = static_cast<char*>(memory_) + page_bytes() + stack_.bytes;
  context_ = context::make_fcontext(top, stack_.bytes, Start::start);
}

// The frames on the stack are forgotten, not unwound, and the body begins anew on a stack that counts as
// empty.
void Fiber::restart() {
  fiber_hooks::destroy_fiber(stack_);
  fiber_hooks::forget_frames(stack_);
  stack_.fake_stack = nullptr;
  exceptions_ = {};
  ended_ = false;
  make_context();
}

// Each stack has exceptions of its own under way: a fibre may suspend in a handler, or in a destructor that
// runs because of an exception.  The runtime's structure is that of the Itanium C++ ABI, section 2.2.2.
void Fiber::exchange(Exceptions& others) {
  void* const current = abi::__cxa_get_globals();
  Exceptions ours;
  std::memcpy(&ours, current, sizeof ours);
  std::memcpy(current, &others, sizeof ours);
  others = ours;
}

// The jump returns when the fibre suspends or ends.  Before and after it the exceptions under way are
// exchanged, so that each side has its own again when it runs.
void Fiber::resume(StackArea& caller) {
  resumer_stack_ = &caller;
  exchange(exceptions_);
  fiber_hooks::leave(caller, stack_, order_);
  context_ = context::jump_fcontext(context_, this).fctx;
  fiber_hooks::arrive(caller, stack_);
  exchange(exceptions_);
}

void Fiber::suspend() {
  fiber_hooks::leave(stack_, *resumer_stack_, order_);
  resumer_ = context::jump_fcontext(resumer_, nullptr).fctx;
  fiber_hooks::arrive(stack_, *resumer_stack_);
}

// The first function on the stack of the fibre.  It cannot return, as there is nothing to return to: at its
// end it jumps to the resumer for good.
void Fiber::run(void* resumer) {
  resumer_ = resumer;
  fiber_hooks::arrive(stack_, *resumer_stack_);
  body_();
  ended_ = true;
  fiber_hooks::leave_for_good(*resumer_stack_, order_);
  context::jump_fcontext(resumer_, nullptr);
  std::terminate();
}

}  // namespace ps
