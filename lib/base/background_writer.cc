#include "base/background_writer.h"
#include "base/start_thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ps {

namespace {

// The argument of sched_setattr(2).
struct SchedulingAttributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

// Lowers the priority of the calling thread alone.  When it wakes, it does not preempt a thread that serves;
// when more threads are ready than there are processors, it gets a tenth of the share of each other thread.
// With the lowest priority, checkpoints never ended where trainers kept both of two cores busy.  It asks for
// the shortest time slice (Linux 6.12 and later), since a thread that yields loses the rest of its slice.
void lower_priority() {
  constexpr int kLowerBy = 10, kLowest = 19;
  constexpr uint64_t kShortestSlice = 100'000;  // ns
  SchedulingAttributes attributes{};
  attributes.size = sizeof attributes;
  attributes.policy = SCHED_BATCH;
  attributes.nice = std::min(getpriority(PRIO_PROCESS, 0) + kLowerBy, kLowest);
  attributes.runtime = kShortestSlice;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

void BackgroundWriter::give_way() {
  sched_yield();
}

BackgroundWriter::BackgroundWriter(uint64_t max_bytes, bool own_thread) : max_bytes_(max_bytes) {
  if (own_thread) thread_ = start_thread([this] { work(); });
}

BackgroundWriter::~BackgroundWriter() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundWriter::add(uint64_t bytes, std::function<void()> task) {
  if (!thread_.joinable()) return task();
  {
    std::unique_lock lock(mutex_);
    // A task that is larger than the limit runs when the queue is empty, since it could never fit in
    // otherwise.
    changed_.wait(lock, [&] { return tasks_.empty() || waiting_bytes_ + bytes <= max_bytes_; });
    tasks_.push_back({bytes, std::move(task)});
    waiting_bytes_ += bytes;
  }
  changed_.notify_all();
}

bool BackgroundWriter::has_room() const {
  std::lock_guard lock(mutex_);
  return waiting_bytes_ <= max_bytes_ / 2;
}

bool BackgroundWriter::is_idle() const {
  std::lock_guard lock(mutex_);
  return tasks_.empty();
}

// The thread's loop.  A task stays at the front of the queue while it runs, so that is_idle() stays false and
// its bytes stay counted until it has ended.  The lock is released while it runs.
void BackgroundWriter::work() {
  lower_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (ending_) return;
    const std::function<void()> run = std::move(tasks_.front().run);
    lock.unlock();
    run();
    lock.lock();
    waiting_bytes_ -= tasks_.front().bytes;
    tasks_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace ps
