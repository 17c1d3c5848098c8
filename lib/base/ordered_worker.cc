#include "base/ordered_worker.h"

#include <utility>

#include "base/error.h"
#include "base/start_thread.h"

namespace ps {

OrderedWorker::~OrderedWorker() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    quits_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OrderedWorker::begin(Task task) {
  PS_CHECK(!begun_);
  if (!thread_.joinable()) thread_ = start_thread([this] { work(); });
  std::lock_guard lock(mutex_);
  task_ = std::move(task);
  allowed_ = done_ = 0;
  begun_ = true;
}

void OrderedWorker::allow(size_t count) {
  PS_CHECK(begun_);
  {
    std::lock_guard lock(mutex_);
    allowed_ = count;
  }
  changed_.notify_all();
}

// With allowed_ = 0 no task begins any more; the running one is waited for, and then nobody but the owner
// touches the data.
size_t OrderedWorker::end() {
  PS_CHECK(begun_);
  std::unique_lock lock(mutex_);
  allowed_ = 0;
  changed_.wait(lock, [this] { return !running_; });
  begun_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return done_;
}

// The thread's loop.  Tasks [0, done_) have run, and the next one begins when done_ < allowed_.  The lock
// is released while it runs; after an error none begins until the next sequence.
void OrderedWorker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return quits_ || (done_ < allowed_ && !error_); });
    if (quits_) return;
    running_ = true;
    const size_t index = done_;
    lock.unlock();
    std::exception_ptr error;
    try {
      task_(index);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    running_ = false;
    if (!error) ++done_;
    error_ = std::move(error);
    changed_.notify_all();
  }
}

}  // namespace ps
