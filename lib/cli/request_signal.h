// RequestSignal: a signal as a request to do something soon.  Used by programs that can be asked while they
// work.
#ifndef PS_CLI_REQUEST_SIGNAL_H_
#define PS_CLI_REQUEST_SIGNAL_H_

#include <csignal>

namespace ps {

// From construction to destruction the signal is remembered, and does nothing else.  At most one of a signal
// lives at a time, for the reason that cli/interrupts.h gives.
class RequestSignal {
 public:
  explicit RequestSignal(int number);
  ~RequestSignal();
  RequestSignal(const RequestSignal&) = delete;
  RequestSignal& operator=(const RequestSignal&) = delete;

  // Whether the signal has come since this was asked last.  Any thread.
  bool take();

 private:
  const int number_;
  struct sigaction previous_;
};

}  // namespace ps

#endif  // PS_CLI_REQUEST_SIGNAL_H_
