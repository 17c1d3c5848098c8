#include "base/background_writer.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ps {

namespace {

// What sched_setattr(2) takes.
struct SchedulingAttributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

// For the calling thread alone: when it wakes, it does not take the processor from who serves; and when more
// threads want a processor than there are, it has a tenth of the share of each other.  With the lowest
// priority no checkpoint came to its end where trainers wanted all of two cores.  Its slices are the shortest
// there are, from Linux 6.12 on, since what is left of one is lost when it gives way.
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
  if (own_thread) thread_ = std::thread([this] { work(); });
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
