// Fiber: code with a stack of its own, which runs only while somebody has resumed it.  So code that waits can be
// written as if it blocked a thread, and yet all of it runs on one thread, in an order that the program decides.
// Used by simulated processes (net/sim/sim_process.h) and by the threads of emulated devices.
#ifndef PS_BASE_FIBER_FIBER_H_
#define PS_BASE_FIBER_FIBER_H_

#include <cstddef>
#include <functional>

#include "base/fiber/hooks.h"

namespace ps {

class Fiber {
 public:
  // Maps a stack of that many bytes (of the pages that it touches, the fibre takes memory) above a page that
  // nobody may touch.  `body` begins at the first resume(); an exception that leaves it ends the program.
  // Throws kExhausted.
  Fiber(size_t stack_bytes, SwitchOrder order, std::function<void()> body);

  // Frames of a body that has not ended are dropped without unwinding them.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it calls suspend() or ends.  `caller` is the stack that this is called on, named by
  // fiber_hooks::name_current; it must live until resume() returns.
  void resume(StackArea& caller);

  // To be called by the body: goes back to who has resumed it.
  void suspend();

  // Drops all frames without unwinding them: the next resume() begins the body anew.
  void restart();

  bool ended() const { return ended_; }
  const StackArea& stack() const { return stack_; }

 private:
  // The exceptions that are under way, as the C++ runtime has them for each thread (__cxa_eh_globals).
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };

  struct Start;  // the entry, called by Boost.Context

  void make_context();
  [[noreturn]] void run(void* resumer);
  static void exchange(Exceptions& others);

  const SwitchOrder order_;
  const std::function<void()> body_;
  void* memory_;  // a guard page, then the stack
  StackArea stack_;
  void* context_ = nullptr;  // of the fibre while it is suspended
  void* resumer_ = nullptr;  // context of who has resumed it, while it runs
  StackArea* resumer_stack_ = nullptr;
  Exceptions exceptions_;  // of the fibre while it is suspended; of who has resumed it, while it runs
  bool ended_ = false;
};

}  // namespace ps

#endif  // PS_BASE_FIBER_FIBER_H_
