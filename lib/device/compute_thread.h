// ComputeThread: a thread that runs a function while its owner does something else.  Used by DeviceStore.
#ifndef PS_DEVICE_COMPUTE_THREAD_H_
#define PS_DEVICE_COMPUTE_THREAD_H_

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace ps {

// One owner thread, which starts a function only after the one before has been finished.
class ComputeThread {
 public:
  // `on_end` is called on the thread when a function has ended or waits for its owner.  Throws kExhausted if the
  // system has no more threads.
  explicit ComputeThread(std::function<void()> on_end);
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  // Begins to run `body`, which must live until finish has returned.
  void start(const std::function<void()>& body);

  // Called by the function itself: waits until the owner thread is in finish, and so leaves to the function what else it
  // would use meanwhile.
  void wait_for_owner();

  // Returns true if the owner thread is to call finish: the function has ended, or waits for that.
  bool wants_owner() const;

  // Waits until the function has ended.  Returns the time of monotonic_seconds at which it ended; `thrown` <-
  // the exception that ended it, or null.
  double finish(std::exception_ptr& thrown);

 private:
  void work();

  const std::function<void()> on_end_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_, like all members below; null: it has ended.
  const std::function<void()>* body_ = nullptr;
  std::exception_ptr thrown_;
  double ended_at_ = 0;
  bool wants_owner_ = false, owner_waits_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_DEVICE_COMPUTE_THREAD_H_
