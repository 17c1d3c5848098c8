// The frame of every program: parses flags, answers --help and similar flags, runs the body, and turns its
// exceptions into a message and an exit status.  Used by cmd/ps-*.cc:
//   int main(int argc, char** argv) { return ps::run_main(program, argc, argv, run); }
#ifndef PS_CLI_MAIN_H_
#define PS_CLI_MAIN_H_

#include <functional>

#include "base/log.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace ps {

// The work of a program.  It returns the exit status.  The log has the level of --log-level, if the program
// has that flag.
using Body = std::function<int(const Flags& flags, Log& log)>;

// `program` makes the table of flags; errors in it are reported too.  Returns the exit status: the body's; after a ps::Error the one of its code, and the message goes to
// standard error as "ps-x: message"; 6 when memory runs out or standard output cannot be written (a full
// disk); 1 after any other exception.
//
// A closed pipe is not an error: SIGPIPE has its default action, so that `ps-datagen … | head` ends without a
// message (the shell sees 141), even if the parent process ignores SIGPIPE.  Sockets must be written with
// MSG_NOSIGNAL.
int run_main(const std::function<Program()>& program, int argc, const char* const* argv, const Body& body);

}  // namespace ps

#endif  // PS_CLI_MAIN_H_
