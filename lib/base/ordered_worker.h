// OrderedWorker: a thread that does tasks in their order while its owner does something else.  The data that the
// tasks use belong to the owner again when it has ended the sequence.  Used by AllReduceStore, to exchange
// gradients while others are computed.
#ifndef PS_BASE_ORDERED_WORKER_H_
#define PS_BASE_ORDERED_WORKER_H_

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace ps {

// One owner thread.  Between begin and end, the data that the tasks use belong to the worker's thread.
class OrderedWorker {
 public:
  using Task = std::function<void(size_t index)>;

  OrderedWorker() = default;
  ~OrderedWorker();  // waits until the running task has ended
  OrderedWorker(const OrderedWorker&) = delete;
  OrderedWorker& operator=(const OrderedWorker&) = delete;

  // Begins a sequence of tasks: task(0), task(1) and so on, none of which may run yet.  The first one starts the
  // thread; throws kExhausted.
  void begin(Task task);

  // Lets the first `count` tasks of the sequence run.
  void allow(size_t count);

  // Ends the sequence: waits for the running task, and lets no other begin.  Returns the number of tasks that
  // have run.  If a task has thrown, no task has run after it, and its exception is thrown here.
  size_t end();

  bool is_begun() const { return begun_; }

 private:
  void work();

  std::thread thread_;
  bool begun_ = false;  // owner thread only

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Task task_;
  size_t allowed_ = 0, done_ = 0;
  bool running_ = false, quits_ = false;
  std::exception_ptr error_;
};

}  // namespace ps

#endif  // PS_BASE_ORDERED_WORKER_H_
