#include "gpu/emulated/device_thread.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>

#include "base/error.h"

namespace ps::gpu::emulated {

namespace {

namespace context = boost::context::detail;

// The stack of one fibre.  Kernels have small frames, and pages that are never touched cost nothing.
constexpr size_t kStackBytes = 128 << 10;

thread_local constinit DeviceThread* running = nullptr;

size_t page_bytes() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Maps memory for a stack above a guard page, which faults when the stack overflows into it.
void* map_stack() {
  const size_t bytes = page_bytes() + kStackBytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) fail_errno(Code::kExhausted, "cannot map the stack of", "a device thread", errno);
  if (mprotect(memory, page_bytes(), PROT_NONE) != 0) {
    fail_errno(Code::kExhausted, "cannot guard the stack of", "a device thread", errno);
  }
  return memory;
}

// The entry of a fibre.  An exception cannot leave a kernel: noexcept makes it end the program.
void start(context::transfer_t first) noexcept {
  static_cast<DeviceThread*>(first.data)->live(first.fctx);
}

}  // namespace

DeviceThread* running_thread() {
  return running;
}

DeviceThread::DeviceThread() : memory_(map_stack()) {
  stack_.bottom = static_cast<char*>(memory_) + page_bytes();
  stack_.bytes = kStackBytes;
  make_context();
}

DeviceThread::~DeviceThread() {
  hooks::destroy_fiber(stack_);
  hooks::forget_frames(stack_);  // frames of the loop, which never returns: others may map this memory
  munmap(memory_, page_bytes() + kStackBytes);
}

void DeviceThread::make_context() {
  hooks::create_fiber(stack_);
  char* top = static_cast<char*>(memory_) + page_bytes() + kStackBytes;
  context_ = context::make_fcontext(top, kStackBytes, start);
}

void DeviceThread::abandon() {
  hooks::destroy_fiber(stack_);
  hooks::forget_frames(stack_);
  stack_.fake_stack = nullptr;
  copies.clear();
  make_context();
}

void DeviceThread::resume(StackArea& scheduler) {
  scheduler_stack_ = &scheduler;
  running = this;
  hooks::leave(scheduler, stack_);
  context_ = context::jump_fcontext(context_, this).fctx;
  hooks::arrive(scheduler, stack_);
  running = nullptr;
}

void DeviceThread::suspend(Request what) {
  request = what;
  hooks::leave(stack_, *scheduler_stack_);
  scheduler_ = context::jump_fcontext(scheduler_, nullptr).fctx;
  hooks::arrive(stack_, *scheduler_stack_);
}

void DeviceThread::live(void* scheduler) {
  scheduler_ = scheduler;
  hooks::arrive(stack_, *scheduler_stack_);
  for (;;) {
    num_commits = 0;
    (*kernel)();
    if (!copies.empty()) {
      fault = "ends while its asynchronous copies are under way: wait for them";
      suspend(Request::kFault);
    }
    suspend(Request::kEnd);
  }
}

std::unique_ptr<DeviceThread> ThreadPool::take() {
  if (threads_.empty()) return std::make_unique<DeviceThread>();
  std::unique_ptr<DeviceThread> thread = std::move(threads_.back());
  threads_.pop_back();
  return thread;
}

}  // namespace ps::gpu::emulated
