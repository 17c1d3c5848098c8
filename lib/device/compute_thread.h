// ComputeThread: a thread that runs a function while its owner does something else.  Used by DeviceStore.
#ifndef PS_DEVICE_COMPUTE_THREAD_H_
#define PS_DEVICE_COMPUTE_THREAD_H_

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace ps {

// One owner thread, which begins a function only when the one before has been finished.
class ComputeThread {
 public:
  // `on_end` is called on the thread when a function has ended.  Throws kExhausted when the system has no more threads.
  explicit ComputeThread(std::function<void()> on_end);
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  // Begins to run `body`, which must live until finish has returned.
  void start(const std::function<void()>& body);
  bool ended() const;

  // Waits until the function has ended.  Returns the time at which it did, of monotonic_seconds; `thrown` <- the exception
  // that ended it, or null.
  double finish(std::exception_ptr& thrown);

 private:
  void work();

  const std::function<void()> on_end_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* body_ = nullptr;  // guarded by mutex_, as the rest; null: it has ended
  std::exception_ptr thrown_;
  double ended_at_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_DEVICE_COMPUTE_THREAD_H_
