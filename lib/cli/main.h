// The frame of every program: parses flags, answers --help and the like, runs the body, turns what it throws
// into a message and an exit status.  Used by cmd/ps-*.cc:
//   int main(int argc, char** argv) { return ps::run_main(program(), argc, argv, run); }
#ifndef PS_CLI_MAIN_H_
#define PS_CLI_MAIN_H_

#include <functional>

#include "base/log.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace ps {

// The work of a program; what it returns is the exit status.  The log's level is --log-level's, if the table
// has it.
using Body = std::function<int(const Flags& flags, Log& log)>;

// Exit status: the body's; that of a ps::Error, whose message goes to standard error as "ps-x: what"; 6 when
// memory runs out or standard output cannot be written whole (a full disk); 1 for any other exception.
//
// A closed pipe is not an error: SIGPIPE has its default action, so that `ps-datagen … | head` ends in
// silence (the shell sees 141), also where the caller had it ignored.  Sockets must be written with
// MSG_NOSIGNAL.
int run_main(const Program& program, int argc, const char* const* argv, const Body& body);

}  // namespace ps

#endif  // PS_CLI_MAIN_H_
