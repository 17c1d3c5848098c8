// SimProcess: code that blocks, inside a simulated network.  See sim_network.h.  Used by SimHost.
#ifndef PS_NET_SIM_SIM_PROCESS_H_
#define PS_NET_SIM_SIM_PROCESS_H_

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "net/loop.h"
#include "net/sim/sim_links.h"

namespace ps {

// The right to run, handed over from thread to thread.  (A std::binary_semaphore would do, but that of g++ 12
// can sleep forever: GCC bug 104928.)
class Turn {
 public:
  void give();
  void await();

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  bool is_given_ = false;  // guarded by mutex_
};

// A thread that runs only when the network wakes it.  The network's thread then waits until the process blocks
// again, so that only one of them runs at any time, and the run does not depend on the system's scheduler.
class SimProcess {
 public:
  SimProcess(SimPlace& place, std::function<void()> body);
  ~SimProcess();  // unwinds a body that has not ended

  // Returns true on the thread of this process.
  bool is_current() const { return std::this_thread::get_id() == thread_.get_id(); }

  // To be called on the network's thread: lets the process go on if its condition is true or its deadline has
  // come.
  void wake();

  // To be called on its own thread: blocks until done() returns true or the deadline comes.
  bool wait(const std::function<bool()>& done, Time deadline);

  bool ended() const { return ended_; }
  std::exception_ptr error() const { return error_; }

 private:
  struct Unwinding {};  // thrown in the body's wait when the network ends

  void run(const std::function<void()>& body);
  void go_on();
  bool is_ready();

  SimPlace& place_;
  const std::function<bool()>* done_ = nullptr;  // its condition
  Time deadline_{};
  bool ended_ = false, unwinding_ = false;
  std::exception_ptr error_, done_error_;  // that ended it; of what it waits for, on its way there
  Turn own_turn_, network_turn_;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_NET_SIM_SIM_PROCESS_H_
