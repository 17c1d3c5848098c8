// BackgroundWriter: runs tasks that write files, one after the other, on a thread of its own, so that the
// thread that serves rows waits neither for a disk nor for a compressor.  Used by ShardCheckpoint.
#ifndef PS_BASE_BACKGROUND_WRITER_H_
#define PS_BASE_BACKGROUND_WRITER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ps {

// One owner thread.
class BackgroundWriter {
 public:
  // A task calls this after every fraction of a millisecond of work: it yields the processor to any thread
  // that is ready to run.  By itself Linux would make a thread that has just woken wait up to 4 ms for it.
  static void give_way();

  // The queue holds tasks of up to `max_bytes` together; add blocks while it is full.  Without a thread of
  // its own, add runs every task at once, for tests on simulated time.
  BackgroundWriter(uint64_t max_bytes, bool own_thread);

  // Waits until the running task has ended, and drops the tasks that have not begun.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // Queues a task, which must not throw.  `bytes` is the memory that the task holds until it has run.
  void add(uint64_t bytes, std::function<void()> task);

  // Returns true while the queue is at most half full.  A caller that can put work off should add tasks only
  // then.
  bool has_room() const;

  // Returns true if no task is queued or running: results of the tasks may then be read from the owner
  // thread.
  bool is_idle() const;

 private:
  struct Task {
    uint64_t bytes;
    std::function<void()> run;
  };

  void work();

  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;      // guarded by mutex_, as the rest; the first one is running
  uint64_t waiting_bytes_ = 0;  // of all tasks
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_BASE_BACKGROUND_WRITER_H_
