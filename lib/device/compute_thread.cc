#include "device/compute_thread.h"

#include <utility>

#include "base/clock.h"
#include "base/start_thread.h"

namespace ps {

ComputeThread::ComputeThread(std::function<void()> on_end)
    : on_end_(std::move(on_end)), thread_(start_thread([this] { work(); })) {}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ComputeThread::start(const std::function<void()>& body) {
  {
    const std::lock_guard lock(mutex_);
    thrown_ = nullptr;
    body_ = &body;
    wants_owner_ = owner_waits_ = false;
  }
  changed_.notify_all();
}

void ComputeThread::wait_for_owner() {
  {
    const std::lock_guard lock(mutex_);
    wants_owner_ = true;
  }
  on_end_();  // without the lock, as in work
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return owner_waits_; });
}

bool ComputeThread::wants_owner() const {
  const std::lock_guard lock(mutex_);
  return wants_owner_ || body_ == nullptr;
}

// The exception goes to the caller, who throws it in the owner's thread.
double ComputeThread::finish(std::exception_ptr& thrown) {
  std::unique_lock lock(mutex_);
  owner_waits_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return body_ == nullptr; });
  thrown = std::exchange(thrown_, nullptr);
  return ended_at_;
}

// The loop of the thread: runs functions, without the lock, until the destructor sets ending_.
void ComputeThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || body_ != nullptr; });
    if (body_ == nullptr) return;
    const std::function<void()>& body = *body_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    thrown_ = thrown;
    ended_at_ = monotonic_seconds();
    body_ = nullptr;
    lock.unlock();
    changed_.notify_all();
    // This is called without the lock, since it may wake the owner, which asks wants_owner() at once.
    on_end_();
    lock.lock();
  }
}

}  // namespace ps
