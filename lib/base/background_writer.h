// BackgroundWriter: does what writes files, one task after the other, on a thread of its own, so that who
// serves rows need not wait for a disk or a compressor, nor is interrupted by what is to be written.  Used by
// ShardCheckpoint.
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
  // To be called by tasks every fraction of a millisecond of work: lets a thread that wants this processor
  // have it.  Linux asks only every 4 ms whether one that woke up just after it slept may.
  static void give_way();

  // Up to `max_bytes` wait to be written; who adds more waits.  Without a thread of its own every task is
  // done by add, for tests on simulated time.
  BackgroundWriter(uint64_t max_bytes, bool own_thread);

  // Does the task that runs to its end, and drops the others.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // The task must not throw.  `bytes` is what it holds.
  void add(uint64_t bytes, std::function<void()> task);

  // Whether half of the room is left: who can should wait until then.
  bool has_room() const;

  // Whether all is done: what tasks have changed may then be read.
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
  std::deque<Task> tasks_;      // guarded by mutex_, as the rest: the first one is running
  uint64_t waiting_bytes_ = 0;  // of all tasks
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_BASE_BACKGROUND_WRITER_H_
