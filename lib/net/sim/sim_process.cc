#include "net/sim/sim_process.h"

#include <utility>

namespace ps {

void Turn::give() {
  std::lock_guard lock(mutex_);
  is_given_ = true;
  given_.notify_one();
}

void Turn::await() {
  std::unique_lock lock(mutex_);
  given_.wait(lock, [this] { return is_given_; });
  is_given_ = false;
}

SimProcess::SimProcess(SimPlace& place, std::function<void()> body)
    : place_(place), thread_([this, body = std::move(body)] { run(body); }) {}

SimProcess::~SimProcess() {
  unwinding_ = true;
  if (!ended_) go_on();
  thread_.join();
}

void SimProcess::run(const std::function<void()>& body) {
  own_turn_.await();
  try {
    if (!unwinding_) body();
  } catch (const Unwinding&) {
  } catch (...) {
    error_ = std::current_exception();
  }
  ended_ = true;
  network_turn_.give();
}

void SimProcess::go_on() {
  done_ = nullptr;
  own_turn_.give();
  network_turn_.await();
}

void SimProcess::wake() {
  if (ended_) return;
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

bool SimProcess::wait(const std::function<bool()>& done, Time deadline) {
  if (done()) return true;
  done_ = &done;
  deadline_ = deadline;
  place_.wake_at(deadline);
  network_turn_.give();
  own_turn_.await();
  if (unwinding_) throw Unwinding();
  if (done_error_) std::rethrow_exception(std::exchange(done_error_, nullptr));
  return done();
}

}  // namespace ps
