// Ctrl-C and SIGTERM as a request to end soon.  Used by programs that have something to finish first.
#ifndef PS_CLI_INTERRUPTS_H_
#define PS_CLI_INTERRUPTS_H_

#include <csignal>
#include <string>

namespace ps {

// From construction to destruction, the first SIGINT or SIGTERM is announced on standard error and
// remembered; the second ends the process at once, by that signal's default action (the shell sees 128 + its
// number).
//
// At most one object exists at a time, since a signal handler can reach globals alone.  The number of the
// signal and the announcement (in interrupts.cc) and the variables of request_signal.cc are the only mutable
// globals of the library.  Any thread may call the getters. System calls that the signal interrupts return
// EINTR.
class Interrupts {
 public:
  // `announcement` says what happens next: "ending after this batch; press Ctrl-C again to end at once".
  Interrupts(const std::string& program, const std::string& announcement);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool requested() const { return signal_number() != 0; }
  int signal_number() const;  // 0: none yet

  // The exit status of a program that ended early: 128 + the signal's number if one was received, else 0.
  int exit_status() const { return requested() ? 128 + signal_number() : 0; }

 private:
  std::string line_;
  struct sigaction previous_int_, previous_term_;
};

}  // namespace ps

#endif  // PS_CLI_INTERRUPTS_H_
