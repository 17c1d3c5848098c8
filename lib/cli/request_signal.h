// RequestSignal: turns a signal into a request to do something soon.  Used by programs that take requests
// while they work.
#ifndef PS_CLI_REQUEST_SIGNAL_H_
#define PS_CLI_REQUEST_SIGNAL_H_

#include <csignal>

namespace ps {

// From construction to destruction, the arrival of the signal is recorded and has no other effect.  At most
// one object a signal exists at a time, for the reason given in cli/interrupts.h.
class RequestSignal {
 public:
  explicit RequestSignal(int number);
  ~RequestSignal();
  RequestSignal(const RequestSignal&) = delete;
  RequestSignal& operator=(const RequestSignal&) = delete;

  // Returns true if the signal has arrived since the last call.  Any thread.
  bool take();

 private:
  const int number_;
  struct sigaction previous_;
};

}  // namespace ps

#endif  // PS_CLI_REQUEST_SIGNAL_H_
