#include "ps/background_writer.h"

#include <pthread.h>
#include <sched.h>

#include <utility>

namespace ps {

namespace {

// For the calling thread alone: when it wakes, it does not take the processor from who serves.  With a lower
// priority as well, no checkpoint came to its end where trainers wanted all of two cores.
void give_way() {
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

}  // namespace

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
  give_way();
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
