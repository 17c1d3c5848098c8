#include "base/thread_pool.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/start_thread.h"

namespace ps {

struct ThreadPool::State {
  // Guarded by mutex, except `next`: the threads take the number of their next block from it atomically.
  std::mutex mutex;
  std::condition_variable started, finished;
  const std::function<void(int64_t)>* body = nullptr;
  int64_t blocks = 0;
  uint64_t loop = 0;     // counts calls of run
  bool is_open = false;  // threads may still join the loop
  int working = 0;       // threads that joined it and are in it
  bool stopping = false;
  std::exception_ptr error;
  std::atomic<int64_t> next{0};
  std::vector<std::thread> threads;

  // Takes blocks until there are none.  After an exception no thread takes any more, and the first
  // exception is kept.
  void run_blocks() {
    try {
      // Relaxed order is enough for the numbers of blocks: the mutex, which each thread takes before and
      // after the loop, orders the memory that bodies use.
      for (int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < blocks;) (*body)(block);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next.store(blocks, std::memory_order_relaxed);
    }
  }

  void stop() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    started.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  // The loop of a thread.  It joins each loop at most once, which `seen` remembers, and only while the loop
  // is open.
  void work() {
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      started.wait(lock, [&] { return stopping || (is_open && loop != seen); });
      if (stopping) return;
      seen = loop;
      ++working;
      lock.unlock();
      run_blocks();
      lock.lock();
      if (--working == 0) finished.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads), state_(std::make_unique<State>()) {
  try {
    state_->threads.reserve(static_cast<size_t>(threads));
    for (int i = 1; i < threads; ++i)
      state_->threads.push_back(start_thread([state = state_.get()] { state->work(); }));
  } catch (...) {
    state_->stop();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  state_->stop();
}

void ThreadPool::run(int64_t blocks, const std::function<void(int64_t)>& body) {
  if (threads_ == 1 || blocks <= 1) {
    for (int64_t block = 0; block < blocks; ++block) body(block);
    return;
  }
  State& state = *state_;
  {
    std::lock_guard lock(state.mutex);
    state.body = &body;
    state.blocks = blocks;
    state.next.store(0, std::memory_order_relaxed);
    state.is_open = true;
    ++state.loop;
  }
  state.started.notify_all();
  state.run_blocks();
  // No block is left.  A thread that has not woken yet, since other work has the cores, can no longer join:
  // the loop waits only for the threads that joined it.
  std::unique_lock lock(state.mutex);
  state.is_open = false;
  state.finished.wait(lock, [&] { return state.working == 0; });
  if (state.error) std::rethrow_exception(std::exchange(state.error, nullptr));
}

}  // namespace ps
