// SimProcess: code that blocks, inside a simulated network.  See sim_network.h.  Used by SimHost.
#ifndef PS_NET_SIM_SIM_PROCESS_H_
#define PS_NET_SIM_SIM_PROCESS_H_

#include <exception>
#include <functional>

#include "base/fiber/fiber.h"
#include "net/loop.h"
#include "net/sim/sim_links.h"

namespace ps {

// A fibre that runs only when the network wakes it, until it blocks again.  So only one process runs at any time, and
// the run does not depend on the system's scheduler.
class SimProcess {
 public:
  SimProcess(SimPlace& place, std::function<void()> body);
  ~SimProcess();  // unwinds a body that has not ended

  // Returns true when it is called by this process.
  bool is_current() const;

  // To be called by who runs the network: lets the process go on if its condition is true or its deadline has come.
  void wake();

  // To be called by the process: blocks until done() returns true or the deadline comes.
  bool wait(const std::function<bool()>& done, Time deadline);

  bool ended() const { return fiber_.ended(); }
  std::exception_ptr error() const { return error_; }

 private:
  struct Unwinding {};  // thrown in the body's wait when the network ends

  void run(const std::function<void()>& body);
  void go_on();
  bool is_ready();

  SimPlace& place_;
  const std::function<bool()>* done_ = nullptr;  // its condition
  Time deadline_{};
  bool unwinding_ = false;
  std::exception_ptr error_, done_error_;  // that ended it; of what it waits for, on its way there
  Fiber fiber_;
};

}  // namespace ps

#endif  // PS_NET_SIM_SIM_PROCESS_H_
