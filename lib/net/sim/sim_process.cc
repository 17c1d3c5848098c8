#include "net/sim/sim_process.h"

#include <utility>

namespace ps {

namespace {

// Pages of a stack that nobody touches cost nothing.
constexpr size_t kProcessStackBytes = 2 << 20;

thread_local constinit const SimProcess* running_process = nullptr;

}  // namespace

SimProcess::SimProcess(SimPlace& place, std::function<void()> body)
    : place_(place),
      fiber_(kProcessStackBytes, SwitchOrder::kOrdered, [this, body = std::move(body)] { run(body); }) {}

// A body that waits is resumed once more, and its wait throws Unwinding, so that the destructors of its
// frames run.
SimProcess::~SimProcess() {
  unwinding_ = true;
  if (!ended()) go_on();
}

bool SimProcess::is_current() const {
  return running_process == this;
}

void SimProcess::run(const std::function<void()>& body) {
  try {
    if (!unwinding_) body();
  } catch (const Unwinding&) {
  } catch (...) {
    error_ = std::current_exception();
  }
}

void SimProcess::go_on() {
  done_ = nullptr;
  const SimProcess* const before = std::exchange(running_process, this);
  StackArea caller;
  fiber_hooks::name_current(caller);
  fiber_.resume(caller);
  running_process = before;
}

void SimProcess::wake() {
  if (ended()) return;
  if (is_ready()) go_on();
}

// If done() throws, the exception is kept, and thrown in the process.
bool SimProcess::is_ready() {
  try {
    return done_ == nullptr || (*done_)() || place_.links().now() >= deadline_;
  } catch (...) {
    done_error_ = std::current_exception();
    return true;
  }
}

// `done` stays on the stack of the process while that is suspended.  The network calls it after events of
// the process's place, and wake_at makes such an event at the deadline.
bool SimProcess::wait(const std::function<bool()>& done, Time deadline) {
  if (done()) return true;
  done_ = &done;
  deadline_ = deadline;
  place_.wake_at(deadline);
  fiber_.suspend();
  if (unwinding_) throw Unwinding();
  if (done_error_) std::rethrow_exception(std::exchange(done_error_, nullptr));
  return done();
}

}  // namespace ps
